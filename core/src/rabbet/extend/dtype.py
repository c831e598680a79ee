"""A dtype: ``DTypeSpec`` for a number format, ``ExtendedDType`` for elements that are no numbers."""

from rabbet.dtypes import DTypeSpec, ExtendedDType

__all__ = [
    "DTypeSpec",
    "ExtendedDType",
]


def __dir__():
    return list(__all__)
