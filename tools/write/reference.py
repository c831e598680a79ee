"""Write docs/reference.md: every name of the modules of `rabbet.extend`, and the settings; and in
docs/coming-from-jax.md, which of JAX's documented names are absent and which calls the tests found to differ.

python tools/write/reference.py            # writes the pages
python tools/write/reference.py --check    # fails if a page is not what would be written
"""

import argparse
import importlib
import inspect
import json
import pathlib
import re
import sys
from importlib.metadata import entry_points

from rabbet.config import CORE_SETTINGS, Setting
from rabbet.extend import DOORS

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "reference.md"
COMING = ROOT / "docs" / "coming-from-jax.md"
# What the tests know to differ: tests/parity/test_generated.py.
DIFFERENCES = json.loads((ROOT / "tests" / "parity" / "differences.json").read_text())
# The documented names of JAX 0.12, by module.
JAX_NAMES = json.loads((ROOT / "tools" / "write" / "jax_names.json").read_text())
# Its other public names that are absent, served or not: tests/parity/test_public_names.py.
UNDOCUMENTED = json.loads((ROOT / "tests" / "parity" / "absent_names.json").read_text())


def first_sentence(thing):
    """The first sentence of a docstring, as one cell of a table."""
    paragraph = " ".join((inspect.getdoc(thing) or "").strip().partition("\n\n")[0].split())
    return re.split(r"(?<=\.) (?=[A-Z`])", paragraph)[0].replace("``", "`").replace("|", "\\|")


def names():
    """A section with a table for each door, a row for each of its names."""
    for door in DOORS:
        module = importlib.import_module(f"rabbet.extend.{door}")
        yield from ("", f"## `rabbet.extend.{door}`", "", first_sentence(module), "")
        yield from ("| name | what it is |", "|---|---|")
        for name in sorted(module.__all__, key=str.lower):
            yield f"| `{name}` | {first_sentence(getattr(module, name))} |"


def settings():
    """A table row for each setting of core, and of packages that bring settings and nothing else."""
    brought = [one for point in entry_points(group="rabbet.settings") for one in point.load()]
    for setting in (*CORE_SETTINGS, *[one for one in brought if isinstance(one, Setting)]):
        yield f"| `{setting.name}` | `{setting.default}` | {setting.doc} |"


def page():
    """The whole page."""
    return "\n".join(
        [
            "# Reference",
            "",
            "This page is written by `tools/write/reference.py`, and a test compares it with the code.",
            *names(),
            "",
            "## Settings",
            "",
            "Attributes of `rabbet.config`; the environment variable is `RABBET_` and the name in capitals.",
            "",
            "| setting | default | meaning |",
            "|---|---|---|",
            *settings(),
            "",
        ]
    )


def reached(path):
    """The object at a dotted path, imported as far as it needs to be; None if there is none."""
    first, *rest = path.split(".")
    thing, at = importlib.import_module(first), first
    for part in rest:
        at = f"{at}.{part}"
        try:
            thing = getattr(thing, part)
        except AttributeError:
            try:
                thing = importlib.import_module(at)
            except ImportError:
                return None
    return thing


def absent_names():
    """``(module, its names that are absent, how many it has)`` for each of JAX's modules."""
    for module, members in JAX_NAMES.items():
        target = reached(module.replace("jax", "rabbet", 1))
        yield module, [name for name in members if target is None or not hasattr(target, name)], len(members)


def absent():
    """A sentence with the numbers, and a table row for each of JAX's modules that lacks something."""
    found = list(absent_names())
    missing, total = sum(len(names) for _, names, _ in found), sum(number for *_, number in found)
    if not missing:
        yield f"All {total:,} names that JAX documents are here."
        return
    yield f"Of {total:,} documented names of JAX, {total - missing:,} are here."
    yield from ("", "| module of JAX | absent |", "|---|---|")
    for module, names, number in found:
        listed = ", ".join(f"`{name}`" for name in names)
        if names:
            yield f"| `{module}` | {'all: ' if len(names) == number else ''}{listed} |"


def undocumented():
    """A sentence with the number of absent names that JAX does not document, and a row for each reason."""
    by_reason = {}
    for module, reasons in UNDOCUMENTED.items():
        if module != "attributes":
            for reason, names in reasons.items():
                by_reason.setdefault(reason, []).append((module, names))
    total = sum(len(names) for modules in by_reason.values() for _, names in modules)
    yield f"{total:,} public names of JAX 0.12 and 0.10.2 that it does not document are absent:"
    yield from ("", "| module of JAX | names | why |", "|---|---|---|")
    for reason, modules in sorted(by_reason.items(), key=lambda item: item[1][0][0]):
        number = sum(len(names) for _, names in modules)
        yield f"| {', '.join(f'`{module}`' for module, _ in modules)} | {number} | {reason} |"


def differing():
    """A table row for each reason that calls differ for."""
    yield from ("| what differs | functions | why |", "|---|---|---|")
    for line in DIFFERENCES:
        functions = ", ".join(f"`{name}`" for name in line["functions"])
        yield f"| {line['what']} | {functions} | {line['reason']} |"


def coming_from_jax():
    """The page with its generated parts."""
    text = COMING.read_text()
    for part, lines in (("names", absent()), ("others", undocumented()), ("calls", differing())):
        begin, end = f"<!-- {part}: begin -->", f"<!-- {part}: end -->"
        before, _, rest = text.partition(begin)
        text = before + "\n".join([begin, *lines, end]) + rest.partition(end)[2]
    return text


PAGES = {PAGE: page, COMING: coming_from_jax}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true")
    check = parser.parse_args().check
    for path, written in PAGES.items():
        if not check:
            path.write_text(written())
        elif path.read_text() != written():
            sys.exit(f"{path} is out of date: run python tools/write/reference.py")


if __name__ == "__main__":
    main()
