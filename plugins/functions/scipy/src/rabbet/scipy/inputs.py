"""What the functions of these modules accept: arrays, tracers, NumPy arrays and numbers.

Lists are refused, as in ``rabbet.numpy``: converting one costs a transfer for each element.
"""

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

import rabbet.numpy as rnp
from rabbet import Array, dtypes, lax
from rabbet.extend.functions import is_array_like, is_python_scalar, with_weak_type
from rabbet.extend.rules import axis_in_range
from rabbet.extend.transform import typeof


def array(name: str, x: Any) -> Array:
    """An array from what was given to the function ``name``.

    Raises:
      TypeError: for what is neither an array nor a number.
    """
    if not is_array_like(x):
        advice = f"; make it an array first, as in {name}(array(x))" if isinstance(x, (list, tuple)) else ""
        raise TypeError(f"{name} takes arrays and numbers, got a {type(x).__name__}{advice}")
    return x if hasattr(x, "aval") else rnp.asarray(x)


def inexact(name: str, *xs: Any, weak: bool = False) -> list[Array]:
    """Arrays in their common dtype, a float or complex one; ``weak``: weakly typed where that dtype is."""
    for x in xs:
        array(name, x)
    common, is_weak = dtypes.promote(*xs)
    dtype = dtypes.to_inexact(common)
    if weak and is_weak:
        return [with_weak_type(x, dtype=dtype) for x in xs]
    return [rnp.asarray(x, dtype) for x in xs]


def real_dtype(dtype: Any) -> np.dtype:
    """The dtype of the real part."""
    dtype = np.dtype(dtype)
    return {"complex64": np.dtype("float32"), "complex128": np.dtype("float64")}.get(dtype.name, dtype)


def complex_dtype(dtype: Any) -> np.dtype:
    """The complex dtype whose parts hold a float dtype's numbers; narrow floats become complex64."""
    return np.dtype("complex128" if np.dtype(dtype).name in ("float64", "complex128") else "complex64")


def is_complex(x: Any) -> bool:
    """Whether an array has complex numbers."""
    return dtypes.kind(typeof(x).dtype) == "c"


def where(condition: Any, x: Any, y: Any) -> Array:
    """``x`` where ``condition`` holds, else ``y``, in their common dtype and shape; numbers give way."""
    dtype = dtypes.result_type(x, y)
    condition = rnp.asarray(condition)
    shape = rnp.broadcast_shapes(condition.shape, typeof(x).shape, typeof(y).shape)

    def spread(v):
        if is_python_scalar(v):
            return lax.full(shape, v, dtype)
        return rnp.broadcast_to(rnp.asarray(v, dtype), shape)

    return lax.select(rnp.broadcast_to(condition, shape), spread(x), spread(y))


def one_of(name: str, argument: str, given: Any, known: Sequence[Any]) -> None:
    """Refuse a word that the function does not know.

    Raises:
      ValueError: naming the words that it knows.
    """
    if given not in known:
        raise ValueError(f"{name}: {argument} must be one of {', '.join(map(repr, known))}, got {given!r}")


def axis_of(name: str, axis: int, ndim: int) -> int:
    """A non-negative axis from one that may count from the end.

    Raises:
      ValueError: if it is out of range.
    """
    at = operator.index(axis)
    return axis_in_range(name, at, ndim)
