"""A dtype: ``DTypeSpec`` for a number format, ``ExtendedDType`` for elements that are no numbers."""

from rabbet.dtypes import DTypeSpec, ExtendedDType
from rabbet.lowering.extended import lowers_stored

__all__ = [
    "DTypeSpec",
    "ExtendedDType",
    "lowers_stored",
]


def __dir__():
    return list(__all__)
