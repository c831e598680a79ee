"""``rabbet explain PRIMITIVE``: which rule each transformation would use for it, from which
package, file and line.
"""

import difflib
import re
import sys
from importlib.machinery import PathFinder
from pathlib import Path

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
    absent = [record for record in load_everything() if record.broken or record.status == "disabled"]
    known = all_primitives()
    if args.primitive not in known:
        close = difflib.get_close_matches(args.primitive, known, n=3)
        hint = f"; did you mean {', '.join(close)}?" if close else ""
        print(f"rabbet explain: no primitive is called {args.primitive!r}{hint}", file=sys.stderr)
        for text in of_absent_packages(args.primitive, absent):
            print(text, file=sys.stderr)
        return 1
    found = known[args.primitive]
    print(f"{found.name} ({', '.join(found.kinds) or 'no kinds'}), defined at {found.where}")
    if found.__doc__:
        print(f"  {found.__doc__}")
    for name, meaning in found.parameters.items():
        print(f"  parameter {name}: {meaning}")
    print()
    print_table(("table", "rule", "how", "package", "where"), rows(found))
    for record in absent:
        if record.group == "rabbet.rules":
            print(f"\nleft out of {record.name}: the rules of {record.title}, {why(record)}")
    return 0


def why(record):
    """Why a package's plugin is not there, in a line and what to do next."""
    if record.status == "disabled":
        return "which RABBET_PLUGINS or RABBET_DISABLE_PLUGINS switches off"
    reason = record.cause or str(record.error or record.status)
    return f"which cannot be used: {reason.splitlines()[0]}\n  the whole story: rabbet doctor"


def of_absent_packages(name, absent):
    """What there is to say of a primitive that none of the loaded packages has: whether one that is not
    loaded makes one of that name, by its source, and else which these packages are.
    """
    by_package = {}
    for record in absent:
        by_package.setdefault(record.package, record)
    for record in by_package.values():
        place = made_in(name, record)
        if place is not None:
            yield f"  {record.title} makes one, in {place}, {why(record)}"
            return
    if by_package:
        yield f"  it may be one of {', '.join(by_package)}: not loaded, see `rabbet doctor`"


def made_in(name, record):
    """``file:line`` where a package that is not imported makes a primitive of this name; None if nowhere."""
    call = re.compile(rf"""Primitive\(\s*["']{re.escape(name)}["']""")
    for file in sources(record):
        try:
            text = file.read_text("utf-8")
        except (OSError, UnicodeDecodeError):
            continue
        match = call.search(text)
        if match:
            return f"{file.parent.name}/{file.name}:{text.count(chr(10), 0, match.start()) + 1}"
    return None


def sources(record):
    """The Python files of the package that a plugin comes from; nothing is imported."""
    listed = (record.distribution.files or ()) if record.distribution is not None else ()
    files = [Path(str(file.locate())) for file in listed if file.suffix == ".py"]
    top = record.value.partition(":")[0].partition(".")[0]
    if not any(top in file.parts for file in files) and top != "rabbet":  # an editable installation
        spec = PathFinder.find_spec(top)
        for place in [] if spec is None else spec.submodule_search_locations or [spec.origin or ""]:
            where = Path(place)
            files += where.rglob("*.py") if where.is_dir() else [where]
    return files


def load_everything():
    """Import core's primitives and every plugin: a table or a primitive is known once its package
    is imported. Returns the records of all.
    """
    return plugin_manager().load_all()


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
