"""Programs as HTML, for notebooks: their text beside the user's lines."""

from __future__ import annotations

from html import escape
from typing import Any

# Colours and fonts are those of the page around it; notebooks take styles of elements and no style sheets.
CODE = "font-family:monospace;white-space:pre;text-align:left;padding:0 1em 0 0"
PLACE = "font-family:monospace;white-space:pre;text-align:left;opacity:0.6;padding:0"


def program_html(lines: Any) -> Any:
    """A table with a row for each of the ``program_lines``: the text, and the line that it comes from."""
    rows = []
    for line, position in lines:
        place = "" if position is None else str(position)
        about = ""
        if position is not None:
            full = place if place.startswith(("cell ", "a cell")) else f"{position.file}:{position.line}"
            about = f"{full}, in {position.function}"
        rows.append(
            f'<tr style="background:none"><td style="{CODE}">{escape(line)}</td>'
            f'<td style="{PLACE}" title="{escape(about)}">{escape(place)}</td></tr>'
        )
    return f'<table style="border:none">{"".join(rows)}</table>'


__all__ = ["program_html"]
