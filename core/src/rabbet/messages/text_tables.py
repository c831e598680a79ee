"""Tables and marks on standard output: with `rich` on a terminal, as aligned plain text everywhere else."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from typing import Any


def print_table(headers: Sequence[str], rows: Iterable[Sequence[Any]], empty: str = "nothing") -> None:
    """Print ``rows`` (tuples of strings, one per header) as a table, or the word ``empty`` for no rows.

    Example:
      >>> from rabbet.extend.commands import print_table
      >>> print_table(("name", "size"), [("a", 1), ("longer", 20)])
      name    size
      a       1
      longer  20
    """
    rows = [tuple(str(cell) for cell in row) for row in rows]
    if not rows:
        print(empty)
    elif not _with_rich(headers, rows):
        print("\n".join(plain(headers, rows)))


def plain(headers: Any, rows: Any) -> Any:
    """The lines of the plain form: columns as wide as their widest cell, two blanks apart."""
    lines = [tuple(headers), *rows]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return ["  ".join(map(str.ljust, line, widths)).rstrip() for line in lines]


def _with_rich(headers: Any, rows: Any) -> Any:
    # Only on a terminal: in a pipe rich would cut the lines at 80 columns, and what reads a pipe
    # wants them whole.
    if not sys.stdout.isatty():
        return False
    try:
        from rich.console import Console
        from rich.table import Table
    except ImportError:
        return False
    drawn = Table(*headers)
    for row in rows:
        drawn.add_row(*row)
    Console(markup=False, highlight=False).print(drawn)
    return True
