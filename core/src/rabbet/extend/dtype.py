"""A dtype: ``DTypeSpec`` for a number format, ``ExtendedDType`` for elements that are not numbers."""

from __future__ import annotations

from rabbet.dtypes import DTypeSpec, ExtendedDType, host_cast
from rabbet.lowering.extended_dtypes import lowers_stored

__all__ = [
    "DTypeSpec",
    "ExtendedDType",
    "host_cast",
    "lowers_stored",
]


def __dir__() -> list[str]:
    return list(__all__)
