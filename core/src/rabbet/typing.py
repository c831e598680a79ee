"""Types for annotations.

``Array`` is what functions return; ``ArrayLike`` and ``DTypeLike`` are what they take. ``isinstance(x,
Array)`` holds for arrays and for the traced values that stand for them in transformed functions.
"""

from typing import Protocol, runtime_checkable

import numpy as np

from rabbet.dtypes import ExtendedDType
from rabbet.messages.tracebacks import public_module
from rabbet.runtime.arrays.array import Array


@runtime_checkable
class SupportsDType(Protocol):
    """Anything that has a dtype.

    Example:
      >>> isinstance(rnp.ones(2), rb.typing.SupportsDType)
      True
    """

    @property
    def dtype(self) -> np.dtype: ...


ArrayLike = Array | np.ndarray | np.bool_ | np.number | bool | int | float | complex
DTypeLike = str | type | np.dtype | ExtendedDType | SupportsDType

__all__ = ["Array", "ArrayLike", "DTypeLike", "SupportsDType"]

public_module(globals())
