"""Scalars and small arrays as StableHLO ``dense<...>`` literals, exact to the last bit."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from rabbet import dtypes

if TYPE_CHECKING:
    from rabbet.typing import DType


def holds_nan(value: Any) -> bool:
    """Whether a number or an array has an element that is not a number."""
    return bool(np.any(value != value))


def dense(value: Any, dtype: DType) -> str:
    """The text ``dense<...>`` for a scalar or NumPy array converted to ``dtype``.

    Finite floats are written with 17 digits, enough for every dtype up to float64; infinities and NaNs as
    bit patterns.

    Example:
      >>> from rabbet.extend.rules import dense
      >>> dense(np.arange(3), np.dtype("int32"))
      'dense<[0, 1, 2]>'
    """
    array = dtypes.host_cast(np.asarray(value), dtype)
    if array.ndim == 0 or (
        array.size and (array == array.reshape(-1)[0]).all() and not _has_signed_zero(array)
    ):
        return f"dense<{_scalar(array.reshape(-1)[0], dtype)}>"
    if array.size == 0:
        return "dense<>"
    return f"dense<{_nested(array, dtype)}>"


def _has_signed_zero(array: np.ndarray) -> bool:
    return array.dtype.kind not in "biu" and bool((np.asarray(array) == 0).any())


def _nested(array: np.ndarray, dtype: DType) -> str:
    if array.ndim == 0:
        return _scalar(array[()], dtype)
    return "[" + ", ".join([_nested(np.asarray(row), dtype) for row in array]) + "]"


def _scalar(value: Any, dtype: DType) -> str:
    kind = dtypes.kind(dtype)
    if kind == "b":
        return "true" if value else "false"
    if kind in "iu":
        return str(int(value))
    if kind == "c":
        part = np.dtype("float32") if dtype == np.complex64 else np.dtype("float64")
        return f"({_scalar(part.type(value.real), part)},{_scalar(part.type(value.imag), part)})"
    number = float(value)
    if math.isfinite(number):
        return f"{number:.17e}" if dtype.itemsize > 4 else f"{number:.10e}"
    bits = np.asarray(value).astype(dtype)
    return f"0x{int(bits.view(f'uint{8 * dtype.itemsize}')):0{2 * dtype.itemsize}X}"
