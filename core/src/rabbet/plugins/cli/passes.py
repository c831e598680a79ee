"""``rabbet passes``: the jaxpr -> jaxpr passes in the order in which they run, and which of them are on."""

from rabbet.plugins.cli import output
from rabbet.plugins.manager import default_manager

HELP = "list the passes between tracing and lowering"


def add_arguments(parser):
    pass


def run(args):
    import rabbet  # noqa: F401 - composes: it tells `passes` of the installed ones
    from rabbet.passes import pipeline

    off = pipeline.switched_off()
    rows = [
        (one.name, "off" if one.name in off else "on", ", ".join(one.platforms or ["all"]), one.doc)
        for one in pipeline.all_passes()
    ]
    output.table(("pass", "state", "platforms", "what it does"), rows, empty="no passes")
    for name in sorted(off - {row[0] for row in rows}):
        print(f"\nRABBET_DISABLE_PASSES names {name!r}, and no pass is called so")
    for record in default_manager().records("rabbet.passes"):
        if record.broken:
            print(f"\n{record.title}: {record.error}")
    return 0
