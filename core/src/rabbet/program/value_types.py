"""The type of a value: what ``typeof`` says of arrays, tracers and numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from rabbet import dtypes
from rabbet.dtypes.array_protocol import array_of
from rabbet.dtypes.narrowing import refuse_masked
from rabbet.program.avals import ShapedArray

_scalar_avals = {
    bool: ShapedArray((), np.dtype(bool)),
    int: ShapedArray((), np.dtype("int32"), True),
    float: ShapedArray((), np.dtype("float32"), True),
    complex: ShapedArray((), np.dtype("complex64"), True),
}


def type_of_number(kind: type) -> ShapedArray:
    """The ``ShapedArray`` of numbers of a class of Python's."""
    aval = _scalar_avals[kind]
    return aval if not dtypes.wide_scalars() else ShapedArray((), dtypes.scalar_dtype(kind), aval.weak_type)


def typeof(x: Any) -> Any:
    """The ``ShapedArray`` of an array, a tracer, a ``ShapeDtypeStruct``, a Python or NumPy scalar, a
    NumPy array, or an object that gives an array by ``__jax_array__``.

    Raises:
      TypeError: if ``x`` is none of these.

    Example:
      >>> from rabbet.extend.transform import typeof
      >>> typeof(np.ones((2, 3), np.float32)).str_short()
      'f32[2,3]'
      >>> typeof(2.0).weak_type
      True
    """
    try:
        return x.aval
    except AttributeError:
        pass
    if type(x) in _scalar_avals:
        return type_of_number(type(x))
    if isinstance(x, (np.ndarray, np.generic)):
        if type(x) is not np.ndarray:
            refuse_masked(x)
        return ShapedArray(x.shape, dtypes.narrow(x.dtype))
    if isinstance(x, (bool, int, float, complex)):
        base = next(t for t in (bool, int, float, complex) if isinstance(x, t))
        return _scalar_avals[base]
    if hasattr(x, "__jax_array__"):
        return typeof(array_of(x))
    instead = getattr(type(x), "not_an_array", None)  # such as a Ref, of which the value was meant
    if instead is not None:
        raise TypeError(f"{x!r:.60} is not an array: {instead}")
    raise TypeError(
        f"{type(x).__name__} is not an array: expected an array, a NumPy array or a scalar, got "
        f"{_shorten(repr(x))}"
    )


def _shorten(text: str, most: int = 60) -> str:
    return text if len(text) <= most else text[: most - 3] + "..."


__all__ = ["typeof"]
