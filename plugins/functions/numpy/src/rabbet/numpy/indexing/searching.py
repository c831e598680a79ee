"""What depends on values: nonzero, counts.

The shape of these results depends on the values, which a compiled program cannot have: outside of ``jit``
the values are looked at; inside,
``size`` says how long the result should be.
"""

from __future__ import annotations

import math
import operator
from typing import TYPE_CHECKING, Any

import numpy as np

from rabbet import dtypes, lax
from rabbet.errors import ConcretizationTypeError, DTypeError, ShapeError
from rabbet.extend.functions import fused, obeys_out_sharding
from rabbet.extend.transform import Tracer, typeof
from rabbet.extend.wrapping import unknown
from rabbet.numpy.creation.conversion import asarray
from rabbet.numpy.elementwise.logic import truth
from rabbet.numpy.support.arguments import as_array, check, comparison_dtype, place_dtype

if TYPE_CHECKING:
    from rabbet.typing import Value


def known(name: str, x: Value, advice: str) -> np.ndarray:
    """The value of an array as a NumPy array.

    Raises:
      ConcretizationTypeError: for a tracer.
    """
    if type(x) is Tracer:
        raise ConcretizationTypeError(
            f"{name}: the shape of the result depends on the values of "
            + unknown(x, f"{advice[0].upper()}{advice[1:]}.")
        )
    return np.asarray(x)


def looked_at(name: str, x: Value, advice: str) -> np.ndarray:
    """What ``known`` gives, also for an array that is differentiated: its value decides a shape and no more.

    Raises:
      ConcretizationTypeError: where the value is not known.
    """
    if type(x) is Tracer:
        value = lax.stop_gradient(x)
        x = x if type(value) is Tracer else value
    return known(name, x, advice)


def held(name: str, x: Value) -> Value:
    """``x`` as an array whose value stays known, even while something else is traced."""
    check(name, x)
    return asarray(x)


def flattened(name: str, x: Value) -> Value:
    """``x`` in one dimension, its value known if that of ``x`` is."""
    x = held(name, x)
    return lax.reshape(x, (x.size,)) if type(x) is Tracer else asarray(np.asarray(x).reshape(-1), x.dtype)


SIZE = "give size=, the length of the result, or compute it outside of the traced function"


def nonzero(a: Value, *, size: int | None = None, fill_value: Value | None = None) -> tuple[Value, ...]:
    """The positions of the elements that are not zero: a tuple of int32 vectors, one per dimension.

    Args:
      a: an array.
      size: how long they are; needed under ``jit``. What is more is cut off.
      fill_value: what stands in missing places: an int, or one per dimension; by default 0.

    Raises:
      ConcretizationTypeError: for a traced array without ``size``.

    Example:
      >>> rnp.nonzero(rnp.array([0, 3, 4]))
      (Array([1, 2], dtype=int32),)
      >>> rb.jit(lambda x: rnp.nonzero(x, size=3, fill_value=-1))(rnp.array([0, 3, 4]))
      (Array([ 1,  2, -1], dtype=int32),)
    """
    a = held("nonzero", a)
    if not a.ndim:
        raise ShapeError("nonzero takes arrays with at least one dimension; use atleast_1d")
    if size is None:
        found = np.nonzero(looked_at("nonzero", a, SIZE))
        return tuple([asarray(i, place_dtype(n)) for i, n in zip(found, a.shape, strict=True)])
    fill = (
        fill_value if isinstance(fill_value, tuple) else (0 if fill_value is None else fill_value,) * a.ndim
    )
    if len(fill) != a.ndim:
        raise ValueError(f"nonzero: {len(fill)} fill values for {a.ndim} dimensions")
    return positions(a, operator.index(size), list(fill))


@fused(static=("size",))
def positions(a: Value, size: int, fill: list[Value]) -> tuple[Value, ...]:
    """The first ``size`` positions: the number of true elements up to each place says which one it is."""
    shape = a.shape
    dtype = place_dtype(a.size)
    mask = lax.reshape(truth(a), (a.size,))
    running = lax.cumsum(lax.convert_element_type(mask, dtype), 0) if a.size else lax.full((0,), 0, dtype)
    # Element k of the result is the first place where the running count exceeds k.
    target = lax.select(mask, lax.sub(running, 1), lax.full_like(running, size))
    at = lax.full((size,), 0, dtype).at[target].set(lax.iota(dtype, a.size), mode="drop")
    total = lax.reduce_sum(lax.convert_element_type(mask, dtype), (0,))
    there = lax.lt(lax.iota(dtype, size), total)
    out, rest = [], math.prod(shape)
    for n, missing in zip(shape, fill):
        rest = rest // n if n else 0
        coordinate = lax.rem(lax.div(at, max(rest, 1)), max(n, 1))
        filled = lax.full((size,), lax.convert_element_type(missing, dtype), dtype)
        out.append(lax.select(there, coordinate, filled))
    return tuple(out)


def flatnonzero(a: Value, *, size: int | None = None, fill_value: Value | None = None) -> Value:
    """The positions in row-major order of the elements that are not zero. Arguments as for ``nonzero``.

    Example:
      >>> rnp.flatnonzero(rnp.array([[0, 1], [2, 0]]))
      Array([1, 2], dtype=int32)
    """
    return nonzero(flattened("flatnonzero", a), size=size, fill_value=fill_value)[0]


def argwhere(a: Value, *, size: int | None = None, fill_value: Value = None) -> Value:
    """The positions of the elements that are not zero, as rows of a matrix. Arguments as for ``nonzero``.

    Example:
      >>> rnp.argwhere(rnp.array([[0, 1], [2, 0]]))
      Array([[0, 1],
             [1, 0]], dtype=int32)
    """
    a = held("argwhere", a)
    if not a.ndim:
        found = nonzero(flattened("argwhere", a), size=size, fill_value=fill_value)[0]
        return lax.full((found.shape[0], 0), 0, found.dtype)
    return lax.stack(nonzero(a, size=size, fill_value=fill_value), 1)


# ------------------------------------------------------------------------------------- where, and how many
@fused(static=("assume_unique", "invert", "method"))
def isin(
    element: Value,
    test_elements: Value,
    assume_unique: bool = False,
    invert: bool = False,
    *,
    method: Any = "auto",
) -> Value:
    """Whether each element is among ``test_elements``: booleans.

    Args:
      invert: whether it is not among them.
      assume_unique, method: without effect on the result.

    Example:
      >>> rnp.isin(rnp.arange(4), rnp.array([1, 3]))
      Array([False,  True, False,  True], dtype=bool)
    """
    check("isin", element, test_elements)
    if method not in ("auto", "compare_all", "binary_search", "sort"):
        raise ValueError(
            f"isin: method must be 'auto', 'compare_all', 'binary_search' or 'sort', got {method!r}"
        )
    dtype = comparison_dtype(element, test_elements)
    element, tests = [as_array(lax.convert_element_type(x, dtype)) for x in (element, test_elements)]
    full = (*element.shape, tests.size)
    left = lax.broadcast_in_dim(element, full, tuple(range(element.ndim)))
    right = lax.broadcast_in_dim(lax.reshape(tests, (tests.size,)), full, (element.ndim,))
    found = lax.reduce_or(lax.eq(left, right), (element.ndim,))
    return lax.bitwise_not(found) if invert else found


@obeys_out_sharding
def bincount(
    x: Value,
    weights: Value = None,
    minlength: int = 0,
    *,
    length: int | None = None,
    out_sharding: Any = None,
) -> Value:
    """How often each of 0, 1, 2 ... occurs among non-negative integers; or the sum of its weights.

    Args:
      x: a vector of integers; negative ones count as 0.
      weights: a vector of as many numbers.
      minlength: the least length of the result.
      length: its length; needed under ``jit``. Larger integers are left out.

    Raises:
      TypeError: for other dtypes.

    Example:
      >>> rnp.bincount(rnp.array([0, 1, 1, 3]))
      Array([1, 2, 0, 1], dtype=int32)
      >>> rnp.bincount(rnp.array([0, 1, 1, 3]), length=6)
      Array([1, 2, 0, 1, 0, 0], dtype=int32)
    """
    x = held("bincount", x)
    if dtypes.kind(x.dtype) not in "iub" or x.ndim != 1:
        raise DTypeError(f"bincount takes a vector of integers, got {typeof(x).str_short()}")
    if length is None:
        host = known("bincount", x, "give length=, the length of the result")
        length = max(operator.index(minlength), int(host.max()) + 1 if host.size else 0)
    return counted(x, 1 if weights is None else weights, operator.index(length))


@fused(static=("length",))
def counted(x: Value, weights: Value, length: int) -> Value:
    """``bincount`` of a known length. Sums of half types and smaller ones are made in single precision."""
    dtype = dtypes.result_type(weights)
    small = dtypes.kind(dtype) == "f" and dtypes.itemsize_bits(dtype) < 32
    work = np.dtype("float32") if small else dtype
    if dtypes.itemsize_bits(x.dtype) >= 32:  # int32 may not hold it
        x = lax.min(x, lax.full_like(x, length))
    at = lax.max(lax.convert_element_type(x, "int32"), 0)
    sums = lax.full((length,), 0, work).at[at].add(lax.convert_element_type(weights, work), mode="drop")
    return lax.convert_element_type(sums, dtype)


__all__ = [
    "argwhere",
    "bincount",
    "flatnonzero",
    "isin",
    "nonzero",
]
