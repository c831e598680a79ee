"""The numbers of an array as NumPy can read and print them, also of formats that NumPy does not know."""

from __future__ import annotations

from typing import Any

import numpy as np

from rabbet import dtypes
from rabbet.dtypes import host_formats
from rabbet.runtime.jaxlib import raw_values


def numbers(array: Any) -> Any:
    """The values of an array as numbers that NumPy can read."""
    dtype = array.aval.dtype
    if stands_for_numbers(dtype):
        return host_formats.run(dtype.decode, raw_values.to_numpy(array.raw), f"decode of {dtype}")
    value = array._value()
    if array.aval.codes is None or not dtypes.has_own_format(dtype):
        return value
    return dtypes.host_cast(value, np.dtype(dtypes.spec(dtype).compute))


def stands_for_numbers(dtype: Any) -> Any:
    """Whether elements of an extended dtype are numbers that can be shown."""
    own = isinstance(dtype, dtypes.ExtendedDType)
    return own and dtype.decode is not None and dtype.physical_shape == ()


def is_stored_only(dtype: Any) -> Any:
    """Whether elements of a dtype can be shown by what stores them alone."""
    return isinstance(dtype, dtypes.ExtendedDType) and not stands_for_numbers(dtype)


def text(array: Any, prefix: Any) -> Any:
    """The values as text, behind a prefix."""
    return np.array2string(numbers(array), separator=", ", prefix=prefix, suffix=",", threshold=1000)


def name_of(dtype: Any) -> Any:
    """What a dtype is called, also where NumPy has another name for it."""
    return dtypes.spec(dtype).name if dtypes.has_own_format(dtype) else dtype.name


__all__ = ["is_stored_only", "name_of", "numbers", "text"]
