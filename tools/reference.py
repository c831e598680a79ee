"""Write docs/reference.md: every name of the modules of `rabbet.extend`, and the settings.

python tools/reference.py            # writes the page
python tools/reference.py --check    # fails if the page is not what would be written
"""

import argparse
import importlib
import inspect
import pathlib
import re
import sys
from importlib.metadata import entry_points

from rabbet.config import CORE_SETTINGS, Setting
from rabbet.extend import DOORS

PAGE = pathlib.Path(__file__).resolve().parent.parent / "docs" / "reference.md"


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
            "This page is written by `tools/reference.py`, and a test compares it with the code.",
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


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true")
    if not parser.parse_args().check:
        PAGE.write_text(page())
    elif PAGE.read_text() != page():
        sys.exit(f"{PAGE} is out of date: run python tools/reference.py")


if __name__ == "__main__":
    main()
