"""``rabbet passes``: the jaxpr -> jaxpr passes in the order in which they run, and which of them are on."""

from rabbet.plugins.cli import output
from rabbet.plugins.manager import default_manager

HELP = "list the passes between tracing and lowering"


def add_arguments(parser):
    pass


def run(args):
    from rabbet import passes

    rows = [(one.name, "on" if passes.enabled(one) else "off", one.doc) for one in passes.pipeline()]
    output.table(("pass", "state", "what it does"), rows, empty="no passes")
    for record in default_manager().records("rabbet.passes"):
        if record.broken:
            print(f"\n{record.title}: {record.error}")
    return 0
