"""``rabbet explain PRIMITIVE``: which rule each transformation would use for it, from which
package, file and line.
"""

import difflib
import sys

from rabbet.extend.commands import address, backend_registry, package_of, plugin_manager, print_table
from rabbet.extend.passes import all_primitives
from rabbet.extend.transform import Role, all_tables

HELP = "show the rule that each transformation has for a primitive, and where it stands"

HOW = {
    "owner": "beside the primitive",
    "table": "in the table",
    "bridge": "from a rule set",
    "body": "through its bodies",
    "kind": "by kind",
    "derived": "from its rule for",
    "decomposition": "by its parts",
    "otherwise": "for all that is left",
}


def add_arguments(parser):
    parser.add_argument("primitive", metavar="PRIMITIVE", help="its name in a jaxpr, such as `mul`")


def run(args):
    load_everything()
    known = all_primitives()
    if args.primitive not in known:
        close = difflib.get_close_matches(args.primitive, known, n=3)
        hint = f"; did you mean {', '.join(close)}?" if close else ""
        print(f"rabbet explain: no primitive is called {args.primitive!r}{hint}", file=sys.stderr)
        return 1
    found = known[args.primitive]
    print(f"{found.name} ({', '.join(found.kinds) or 'no kinds'}), defined at {found.where}")
    if found.__doc__:
        print(f"  {found.__doc__}")
    print()
    print_table(("table", "rule", "how", "package", "where"), rows(found))
    return 0


def load_everything():
    """Import core's primitives and every plugin: a table or a primitive is known once its package
    is imported.
    """
    plugin_manager().load_all()


def rows(primitive):
    """One row for each table, and one for each platform that has a rule of its own."""
    for table in all_tables().values():
        for platform in (None, *platforms(table, primitive)):
            name = table.name if platform is None else f"{table.name}:{platform}"
            found = table.explain(primitive, platform)
            if found is None:
                yield name, "none", "", "", f"the table stands at {table.where}"
            else:
                yield name, *describe(found)
        if Role.WRITES in table.roles:
            for platform, rule in of_backends(primitive):
                where = package_of(rule), address(rule)
                yield f"lower:{platform}", rule.__name__, "by the backend", *where


def of_backends(primitive):
    """``(platform, rule)`` for each installed backend that lowers ``primitive`` in its own way."""
    for backend in backend_registry().candidates()[0]:
        rule = backend.lowerings.find(primitive, backend.platform) if backend.lowerings is not None else None
        if rule is not None:
            yield backend.platform, rule


def platforms(table, primitive):
    """The platforms for which ``primitive`` has its own rule in ``table``."""
    own = {name.partition(":")[2] for name in primitive.rules if name.startswith(f"{table.name}:")}
    return sorted(own | {where for one, where in table.by_primitive if one is primitive and where})


def describe(found):
    """``(rule, how, package, where)`` of what a lookup found."""
    function = getattr(found.rule, "parts", None) or getattr(found.rule, "body", None) or found.rule
    how = HOW[found.source] + (f" {found.detail}" if found.source in ("kind", "derived") else "")
    name = getattr(function, "__name__", type(function).__name__)
    return name, how, package_of(function), address(function)
