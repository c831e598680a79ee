"""A dtype: ``DTypeSpec`` for a number format, ``ExtendedDType`` for elements that are no numbers."""

from __future__ import annotations

from rabbet.dtypes import DTypeSpec, ExtendedDType
from rabbet.lowering.extended import lowers_stored

__all__ = [
    "DTypeSpec",
    "ExtendedDType",
    "lowers_stored",
]


def __dir__() -> list[str]:
    return list(__all__)
