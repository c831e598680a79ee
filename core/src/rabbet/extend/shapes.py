"""Shapes whose dimensions are not all numbers while a function is traced, and arguments that count."""

from __future__ import annotations

from rabbet.program.dimensions import SymbolicDimension, dimension_of, exceeds, whole_number

__all__ = [
    "SymbolicDimension",
    "dimension_of",
    "exceeds",
    "whole_number",
]


def __dir__() -> list[str]:
    return list(__all__)
