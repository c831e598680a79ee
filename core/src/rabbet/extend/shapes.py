"""Shapes whose dimensions are not all numbers while a function is traced; arguments that count or switch."""

from __future__ import annotations

from rabbet.program.dimensions import SymbolicDimension, dimension_of, exceeds, flag, whole_number

__all__ = [
    "SymbolicDimension",
    "dimension_of",
    "exceeds",
    "flag",
    "whole_number",
]


def __dir__() -> list[str]:
    return list(__all__)
