"""Types for annotations.

``Array`` is what functions return; ``ArrayLike`` and ``DTypeLike`` are what they take. ``isinstance(x,
Array)`` holds for arrays and for the traced values that stand for them in transformed functions.
"""

from typing import Any, Protocol, TypeAlias, runtime_checkable

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
DType: TypeAlias = np.dtype | ExtendedDType
Value: TypeAlias = Any
"""What rules and library functions compute with: an array, a tracer that stands for one, or a number that
becomes one. Only the interpreter that runs knows which of them it is."""

__all__ = ["Array", "ArrayLike", "DType", "DTypeLike", "SupportsDType", "Value"]

public_module(globals())
