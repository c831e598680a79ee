"""Shapes whose dimensions are not all numbers while a function is traced."""

from __future__ import annotations

from rabbet.program.dimensions import SymbolicDimension, dimension_of, exceeds

__all__ = [
    "SymbolicDimension",
    "dimension_of",
    "exceeds",
]


def __dir__() -> list[str]:
    return list(__all__)
