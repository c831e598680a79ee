"""Cells: places with a value that functions may replace, such as ``rabbet.ref.Ref``."""

from rabbet.trace.cells import Cell, Threading, Touched, contents, put_back, read, write

__all__ = [
    "Cell",
    "Threading",
    "Touched",
    "contents",
    "put_back",
    "read",
    "write",
]


def __dir__():
    return list(__all__)
