"""Sums, products, extremes and truths over axes, and the positions of extremes.

Small integers and booleans are summed as 32-bit integers, half-precision floats are summed in single
precision. Results are never weakly typed.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from rabbet import dtypes, lax
from rabbet.extend.functions import fused
from rabbet.extend.transform import typeof
from rabbet.numpy.elementwise.logic import truth
from rabbet.numpy.support.arguments import (
    as_array,
    axes_of,
    axis_of,
    check,
    in_dtype,
    keep_dims,
    kind_of,
    no_out,
    place_dtype,
    requested,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rabbet.extend.primitive import Primitive
    from rabbet.typing import DType, DTypeLike, Value


def wide_enough(dtype: DType) -> DType:
    """The dtype in which elements of ``dtype`` are added up: at least 32 bits for integers and booleans."""
    kind = dtypes.kind(dtype)
    if kind == "b":
        return dtypes.scalar_dtype(int)
    if kind in "iu":
        default = dtypes.scalar_dtype(int)
        least = default if kind == "i" else np.dtype(f"uint{8 * default.itemsize}")
        return dtype if dtype.itemsize >= least.itemsize else least
    return dtype


def computed_in(dtype: DType) -> DType:
    """The dtype in which to accumulate: single precision for half, integers for booleans."""
    if dtypes.kind(dtype) == "b":
        return np.dtype("int32")
    return np.dtype("float32") if dtypes.kind(dtype) == "f" and dtypes.itemsize_bits(dtype) < 32 else dtype


def as_terms(x: Value, dtype: DType) -> Value:
    """``x`` in the dtype in which its elements are added up or multiplied for a result of ``dtype``."""
    if dtypes.kind(dtype) == "b":  # truths: their number, or their product, is a truth again
        x = truth(x)
    return converted(x, computed_in(dtype))


def converted(x: Value, dtype: DType | str) -> Any:
    """``x`` as ``dtype``, not weak."""
    aval = typeof(x)
    if aval.dtype == dtype and not aval.weak_type and hasattr(x, "aval"):
        return x
    return lax.convert_element_type(x, dtype)


def masked(name: str, x: Value, where: Value | None, neutral: float) -> Value:
    """``x`` with ``neutral`` where a mask does not hold; the mask broadcasts."""
    if where is None:
        return x
    check(name, where)
    if kind_of(where) != "b":
        raise ValueError(f"{name}: where must be a boolean array, got {typeof(where).str_short()}")
    shape = lax.broadcast_shapes(typeof(x).shape, typeof(where).shape)
    x, where = spread_to(x, shape), spread_to(truth(where), shape)
    return lax.select(where, x, lax.full_like(x, neutral))


def spread_to(x: Value, shape: tuple[int, ...]) -> Any:
    """``x`` broadcast to ``shape``."""
    x = as_array(x)
    have = x.aval.shape
    if have == shape:
        return x
    return lax.broadcast_in_dim(x, shape, tuple(range(len(shape) - len(have), len(shape))))


def reduced(
    name: str,
    primitive: Callable[..., Any],
    a: Value,
    axis: Any,
    keepdims: bool,
    where: Value | None,
    neutral: float,
) -> Value:
    """One reduction over axes of an array that has the right dtype."""
    a = masked(name, a, where, neutral)
    axes = axes_of(name, axis, a.aval.ndim)
    out = primitive(a, axes)
    return keep_dims(out, axes) if keepdims else out


def with_initial(out: Value, initial: Value | None, combine: Primitive) -> Value:
    """The result with an initial value combined in."""
    if initial is None:
        return out
    check("initial", initial)
    if typeof(initial).shape:
        raise ValueError(f"initial must be a number, got an array {typeof(initial).str_short()}")
    return combine(*in_dtype((out, initial), out.aval.dtype))


STATIC = ("axis", "dtype", "out", "keepdims", "promote_integers")


@fused(static=STATIC)
def sum(
    a: Value,
    axis: int | Sequence[int] | None = None,
    dtype: DTypeLike | None = None,
    out: Any = None,
    keepdims: bool = False,
    initial: Value = None,
    where: Value = None,
    promote_integers: bool = True,
) -> Value:
    """The sum of the elements over axes.

    Args:
      a: an array.
      axis: an int or a tuple of ints; None for all.
      dtype: of the result. By default that of ``a``; small integers and booleans become 32-bit integers.
      keepdims: keep reduced dimensions with size 1.
      initial: a number to begin with.
      where: a boolean array: which elements count.
      promote_integers: False keeps the dtype of small integers.

    Raises:
      TypeError: if ``a`` is not an array or a number.

    Example:
      >>> rnp.sum(rnp.array([[1, 2], [3, 4]]), axis=0)
      Array([4, 6], dtype=int32)
      >>> rnp.sum(rnp.arange(4), where=rnp.arange(4) > 1)
      Array(5, dtype=int32)
    """
    check("sum", a)
    no_out("sum", out)
    have = typeof(a).dtype
    dtype = requested(dtype, wide_enough(have) if promote_integers or kind_of(a) == "b" else have)
    total = reduced("sum", lax.reduce_sum, as_terms(a, dtype), axis, keepdims, where, 0)
    return converted(with_initial(total, initial, lax.add), dtype)


@fused(static=STATIC)
def prod(
    a: Value,
    axis: int | Sequence[int] | None = None,
    dtype: DTypeLike | None = None,
    out: Any = None,
    keepdims: bool = False,
    initial: Value = None,
    where: Value = None,
    promote_integers: bool = True,
) -> Value:
    """The product of the elements over axes. Arguments as for ``sum``.

    Example:
      >>> rnp.prod(rnp.array([[1, 2], [3, 4]]), axis=1)
      Array([ 2, 12], dtype=int32)
    """
    check("prod", a)
    no_out("prod", out)
    have = typeof(a).dtype
    dtype = requested(dtype, wide_enough(have) if promote_integers or kind_of(a) == "b" else have)
    total = reduced("prod", lax.reduce_prod, as_terms(a, dtype), axis, keepdims, where, 1)
    return converted(with_initial(total, initial, lax.mul), dtype)


def extreme(
    name: str,
    primitive: Callable[..., Any],
    combine: Primitive,
    largest: bool,
    a: Value,
    axis: int | Sequence[int] | None,
    out: Any,
    keepdims: bool,
    initial: Value | None,
    where: Value | None,
) -> Value:
    """What ``max`` and ``min`` have in common."""
    check(name, a)
    no_out(name, out)
    if where is not None and initial is None:
        raise ValueError(f"{name} with where= needs initial=, the result where no element counts")
    a = converted(a, typeof(a).dtype)
    axes = axes_of(name, axis, a.aval.ndim)
    if initial is None and builtins.any(a.aval.shape[d] == 0 for d in axes):
        raise ValueError(
            f"{name} of no elements: {a.aval.str_short()} is empty along axis {axis}; give initial="
        )
    found = reduced(name, primitive, a, axis, keepdims, where, least(a.aval.dtype, largest))
    return with_initial(found, initial, combine)


def least(dtype: DType, largest: bool) -> float:
    """The value that loses against every other: the smallest of a dtype if the largest wins."""
    spec = dtypes.spec(dtype)
    return spec.lowest if largest else spec.highest


@fused(static=STATIC)
def max(
    a: Value,
    axis: int | Sequence[int] | None = None,
    out: Any = None,
    keepdims: bool = False,
    initial: Value | None = None,
    where: Value = None,
) -> Value:
    """The largest element over axes; NaN if there is one. Arguments as for ``sum``.

    Raises:
      ValueError: over no elements, or with ``where``, if no ``initial`` is given.

    Example:
      >>> rnp.amax(rnp.array([[1, 5], [7, 3]]), axis=0)
      Array([7, 5], dtype=int32)
    """
    return extreme("max", lax.reduce_max, lax.max, True, a, axis, out, keepdims, initial, where)


@fused(static=STATIC)
def min(
    a: Value,
    axis: int | Sequence[int] | None = None,
    out: Any = None,
    keepdims: bool = False,
    initial: Value | None = None,
    where: Value = None,
) -> Value:
    """The smallest element over axes; NaN if there is one. Arguments as for ``sum``.

    Raises:
      ValueError: over no elements, or with ``where``, if no ``initial`` is given.

    Example:
      >>> rnp.amin(rnp.array([[1, 5], [7, 3]]), axis=0)
      Array([1, 3], dtype=int32)
    """
    return extreme("min", lax.reduce_min, lax.min, False, a, axis, out, keepdims, initial, where)


amax, amin = max, min


@fused(static=STATIC)
def minmax(
    a: Value,
    axis: int | Sequence[int] | None = None,
    out: Any = None,
    keepdims: bool = False,
    initial: Value = None,
    where: Value | None = None,
) -> tuple[Value, ...]:
    """The smallest and the largest element over axes, a pair; NaN if there is one.

    Arguments as for ``sum``; ``initial`` may be a pair, for the one and the other.

    Raises:
      ValueError: over no elements, or with ``where``, if no ``initial`` is given.

    Example:
      >>> rnp.minmax(rnp.array([[1, 5], [7, 3]]), axis=0)
      (Array([1, 3], dtype=int32), Array([7, 5], dtype=int32))
    """
    low, high = initial if isinstance(initial, tuple) else (initial, initial)
    least = extreme("minmax", lax.reduce_min, lax.min, False, a, axis, out, keepdims, low, where)
    return least, extreme("minmax", lax.reduce_max, lax.max, True, a, axis, out, keepdims, high, where)


@fused(static=STATIC)
def ptp(a: Value, axis: int | Sequence[int] | None = None, out: Any = None, keepdims: bool = False) -> Value:
    """The distance from the smallest to the largest element over axes.

    Example:
      >>> rnp.ptp(rnp.array([[1, 5], [7, 3]]), axis=1)
      Array([4, 4], dtype=int32)
    """
    return lax.sub(max(a, axis, out, keepdims), min(a, axis, out, keepdims))


@fused(static=STATIC)
def any(
    a: Value,
    axis: int | Sequence[int] | None = None,
    out: Any = None,
    keepdims: bool = False,
    *,
    where: Value = None,
) -> Value:
    """Whether some element over axes is not zero.

    Example:
      >>> rnp.any(rnp.array([[True, False], [False, False]]), axis=1)
      Array([ True, False], dtype=bool)
    """
    check("any", a)
    no_out("any", out)
    return reduced("any", lax.reduce_or, as_array(truth(a)), axis, keepdims, where, False)


@fused(static=STATIC)
def all(
    a: Value,
    axis: int | Sequence[int] | None = None,
    out: Any = None,
    keepdims: bool = False,
    *,
    where: Value = None,
) -> Value:
    """Whether every element over axes is not zero.

    Example:
      >>> rnp.all(rnp.array([[True, False], [True, True]]), axis=1)
      Array([False,  True], dtype=bool)
    """
    check("all", a)
    no_out("all", out)
    return reduced("all", lax.reduce_and, as_array(truth(a)), axis, keepdims, where, True)


@fused(static=STATIC)
def count_nonzero(a: Value, axis: int | Sequence[int] | None = None, keepdims: bool = False) -> Value:
    """How many elements over axes are not zero: int32.

    Example:
      >>> rnp.count_nonzero(rnp.array([[0, 1], [2, 3]]), axis=1)
      Array([1, 2], dtype=int32)
    """
    check("count_nonzero", a)
    return sum(truth(a), axis, place_dtype(typeof(a).size), keepdims=keepdims)


# --------------------------------------------------------------------------------- positions of extremes
def position(
    name: str, primitive: Callable[..., Any], a: Value, axis: int | None, out: Any, keepdims: Any
) -> Value:
    """What ``argmax`` and ``argmin`` have in common: along all elements in row-major order for no axis."""
    check(name, a)
    no_out(name, out)
    a = as_array(a)
    shape = a.aval.shape
    if axis is None:
        a, at = lax.reshape(a, (a.size,)), 0
    else:
        at = axis_of(name, axis, len(shape))
    if a.aval.shape[at] == 0:
        raise ValueError(f"{name} of no elements: {a.aval.str_short()} is empty along axis {at}")
    dtype = place_dtype(a.aval.shape[at])
    if kind_of(a) == "c":
        places, last = lax.broadcasted_iota(dtype, a.aval.shape, at), primitive is lax.argmax
        if last:  # of equal ones the first comes last
            places = lax.neg(places)
        ranked = along(lax.sort((a, places), dimension=at, num_keys=2)[1], at, -1 if last else 0, False)
        found = lax.neg(ranked) if last else ranked
        unknown = lax.ne(a, a)  # NaN in either part, of which sorting makes an order
        found = lax.select(lax.reduce_or(unknown, (at,)), lax.argmax(unknown, at, dtype), found)
    else:
        found = primitive(a, at, dtype)
    if not keepdims:
        return found
    return lax.reshape(found, (1,) * len(shape)) if axis is None else lax.expand_dims(found, (at,))


def along(x: Value, axis: int, index: int, keepdims: bool) -> Value:
    """The slice of ``x`` at a static position."""
    n = x.aval.shape[axis]
    out = lax.slice_in_dim(x, index % n, index % n + 1, axis=axis)
    return out if keepdims else lax.squeeze(out, (axis,))


@fused(static=STATIC)
def argmax(a: Value, axis: int | None = None, out: Any = None, keepdims: bool | None = None) -> Value:
    """The position of the first largest element along ``axis``, of all in row-major order for None: int32.

    Raises:
      ValueError: if there are no elements.

    Example:
      >>> rnp.argmax(rnp.array([[1, 5, 2], [7, 3, 7]]), axis=1)
      Array([1, 0], dtype=int32)
    """
    return position("argmax", lax.argmax, a, axis, out, keepdims)


@fused(static=STATIC)
def argmin(a: Value, axis: int | None = None, out: Any = None, keepdims: bool | None = None) -> Value:
    """The position of the first smallest element along ``axis``, of all in row-major order for None: int32.

    Raises:
      ValueError: if there are no elements.

    Example:
      >>> rnp.argmin(rnp.array([[1, 5, 2], [7, 3, 7]]), axis=1)
      Array([0, 1], dtype=int32)
    """
    return position("argmin", lax.argmin, a, axis, out, keepdims)


__all__ = [
    "all", "amax", "amin", "any", "argmax", "argmin", "count_nonzero", "max", "min",
    "minmax", "prod", "ptp", "sum",
]  # fmt: skip
