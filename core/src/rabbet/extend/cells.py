"""Cells: places with a value that functions may replace, such as ``rabbet.ref.Ref``."""

from __future__ import annotations

from rabbet.trace.cells import Cell, Threading, Touched, contents, exchange, put_back, read, update, write

__all__ = [
    "Cell",
    "Threading",
    "Touched",
    "contents",
    "exchange",
    "put_back",
    "read",
    "update",
    "write",
]


def __dir__() -> list[str]:
    return list(__all__)
