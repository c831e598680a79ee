"""A badge that says with which versions of Rabbet and jaxlib a package's tests passed.

python -m pytest --junit-xml=tests.xml
python -m rabbet.testing.badge tests.xml badge.svg
"""

from __future__ import annotations

import re
import sys
from importlib import metadata
from pathlib import Path

SVG = """<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="20" role="img" aria-label="{text}">
<rect width="52" height="20" fill="#555"/><rect x="52" width="{rest}" height="20" fill="{colour}"/>
<g fill="#fff" font-family="Verdana,sans-serif" font-size="11"><text x="6" y="14">Rabbet</text>
<text x="58" y="14">{text}</text></g></svg>
"""


def badge(report: str) -> str:
    """The badge, an SVG, for a report of pytest.

    Args:
      report: the text of the file that ``--junit-xml`` writes.

    Raises:
      ValueError: it is no such report.

    Example:
      >>> from rabbet.testing.badge import badge
      >>> "passed" in badge('<testsuite tests="3" failures="0" errors="0" skipped="1">')
      True
    """
    counts = {
        name: sum(map(int, re.findall(rf'\b{name}="(\d+)"', report)))
        for name in ("tests", "failures", "errors")
    }
    if not counts["tests"]:
        raise ValueError("the report has no tests; write it with pytest --junit-xml=tests.xml")
    bad = counts["failures"] + counts["errors"]
    versions = f"{metadata.version('rabbet-core')}, jaxlib {metadata.version('jaxlib')}"
    text = f"{versions}: {f'{bad} failed' if bad else 'passed'}"
    width = 12 + 7 * len(text)
    return SVG.format(width=52 + width, rest=width, colour="#c33" if bad else "#3a3", text=text)


def main(arguments: list[str]) -> int:
    """Write a badge; the exit status."""
    if len(arguments) != 2:
        print("usage: python -m rabbet.testing.badge REPORT.xml BADGE.svg", file=sys.stderr)
        return 2
    Path(arguments[1]).write_text(badge(Path(arguments[0]).read_text(encoding="utf-8")), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
