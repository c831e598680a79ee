"""The tables of docs/platforms.md: rows of the conformance table that do not compile, and why."""

import re
from pathlib import Path

PAGE = Path(__file__).resolve().parents[2] / "docs" / "platforms.md"
ROW = re.compile(r"^\| (?P<family>\w+) \| (?P<row>.+?) \| (?P<reason>.*) \|$", re.MULTILINE)


def markers(platform):
    """The lines between which a platform's table stands."""
    return f"<!-- rows of {platform} -->\n", f"<!-- end of {platform} -->\n"


def listed(platform):
    """What the page lists for a platform: a dict from (family, row) to the reason."""
    first, last = markers(platform)
    table = PAGE.read_text().partition(first)[2].partition(last)[0]
    return {(m["family"], m["row"]): m["reason"] for m in ROW.finditer(table) if m["family"] != "family"}


def table(failures):
    """A table as text, of a dict from (family, row) to the reason."""
    rows = [f"| {family} | {row} | {one_line(reason)} |" for (family, row), reason in failures.items()]
    return "\n".join(["| family | row | reason |", "|---|---|---|", *rows, ""])


def one_line(reason):
    """A reason in one line of at most 300 characters: what was said, without who said it and where."""
    said = re.split(r"\n  (?:where:|called at|reached from) ", reason)[0]
    said = re.sub(r"^\w+Error: ('\w+' on '\w+': |the compiler refused '\w+' for \w+: )?", "", said)
    said = " ".join(said.split()).replace("|", "/")
    return said if len(said) <= 300 else f"{said[:297]}..."


def write(platform, failures):
    """Put a platform's table into the page."""
    first, last = markers(platform)
    text = PAGE.read_text()
    before, _, rest = text.partition(first)
    after = rest.partition(last)[2]
    PAGE.write_text(f"{before}{first}\n{table(failures)}\n{last}{after}")
