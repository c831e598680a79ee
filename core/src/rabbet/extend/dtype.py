"""A dtype: ``DTypeSpec`` for a number format, ``ExtendedDType`` for elements that are no numbers."""

from rabbet.dtypes import (
    DTypeSpec,
    ExtendedDType,
)
from rabbet.primitives.keys import (
    from_physical,
    to_physical,
)

__all__ = [
    "DTypeSpec",
    "ExtendedDType",
    "from_physical",
    "to_physical",
]
