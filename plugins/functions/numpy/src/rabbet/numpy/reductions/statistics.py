"""Means, variances, weighted means: plain primitives in a numerically safe order.

The variance is the mean of squared deviations, never the difference of two large numbers.
"""

from __future__ import annotations

import math
import numbers
from typing import TYPE_CHECKING, Any

import numpy as np

from rabbet import dtypes, lax
from rabbet.extend.functions import fused
from rabbet.extend.shapes import SymbolicDimension
from rabbet.extend.transform import typeof
from rabbet.numpy.elementwise.hypot import root_of_size
from rabbet.numpy.elementwise.logic import truth
from rabbet.numpy.reductions.reducing import STATIC, computed_in, converted, reduced, spread_to
from rabbet.numpy.support.arguments import (
    as_array,
    axes_of,
    axis_of,
    check,
    keep_dims,
    kind_of,
    no_out,
    requested,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rabbet.typing import DType, DTypeLike, Value


def float_of(a: Value) -> Any:
    """The float dtype that statistics of ``a`` have."""
    return dtypes.to_inexact(typeof(a).dtype)


def count_of(name: str, a: Value, axis: int | Sequence[int] | None, where: Any, keepdims: bool) -> Any:
    """How many elements a mean over axes has: an int, or an array where a mask decides."""
    axes = axes_of(name, axis, a.aval.ndim)
    if where is None:
        return math.prod([a.aval.shape[d] for d in axes])
    check(name, where)
    full = lax.convert_element_type(spread_to(truth(where), a.aval.shape), "int32")
    out = lax.reduce_sum(full, axes)
    return keep_dims(out, axes) if keepdims else out


def divided(total: Value, count: int) -> Value:
    """A sum over its count, which is an int or an array of ints."""
    if isinstance(count, numbers.Integral):
        return lax.div(total, float(count))
    return lax.div(
        total,
        converted(count, real_of(total.aval.dtype))
        if kind_of(total) != "c"
        else converted(count, total.dtype),
    )


def real_of(dtype: Any) -> Any:
    """The dtype of the parts of a complex dtype; a real dtype is its own."""
    return np.dtype(f"float{4 * dtype.itemsize}") if dtypes.kind(dtype) == "c" else dtype


@fused(static=STATIC)
def mean(
    a: Value,
    axis: int | Sequence[int] | None = None,
    dtype: DTypeLike | None = None,
    out: Any = None,
    keepdims: bool = False,
    *,
    where: Value = None,
) -> Value:
    """The mean of the elements over axes, a float.

    Args:
      a: an array.
      axis: an int or a tuple of ints; None for all.
      dtype: of the result and, unless it is half precision, of the computation.
      keepdims: keep reduced dimensions with size 1.
      where: a boolean array: which elements count.

    Raises:
      TypeError: if ``a`` is not an array or a number.

    Example:
      >>> rnp.mean(rnp.array([[1.0, 2.0], [3.0, 6.0]]), axis=0)
      Array([2., 4.], dtype=float32)
    """
    check("mean", a)
    no_out("mean", out)
    dtype = requested(dtype, float_of(a))
    a = converted(a, computed_in(dtypes.to_inexact(dtype)))
    total = reduced("mean", lax.reduce_sum, a, axis, keepdims, where, 0)
    return converted(divided(total, count_of("mean", a, axis, where, keepdims)), dtype)


@fused(static=("axis", "returned", "keepdims"))
def average(
    a: Value,
    axis: int | Sequence[int] | None = None,
    weights: Value = None,
    returned: bool = False,
    keepdims: bool = False,
) -> Value:
    """The mean of the elements over axes, each counting by its weight.

    Args:
      a: an array.
      axis: an int or a tuple of ints; None for all.
      weights: an array like ``a``, or one of the sizes of ``a`` along ``axis``; None: all are equal.
      returned: also return the sum of the weights.
      keepdims: keep reduced dimensions with size 1.

    Raises:
      ValueError: if weights of another shape do not fit along ``axis``.

    Example:
      >>> rnp.average(rnp.array([1.0, 2.0, 4.0]), weights=rnp.array([2.0, 1.0, 1.0]))
      Array(2., dtype=float32)
    """
    check("average", a)
    if weights is None:
        out = mean(a, axis, keepdims=keepdims)
        total = lax.full_like(out, as_array(a).size / _at_least_one(out.size))
        return (out, total) if returned else out
    check("average", weights)
    dtype = dtypes.to_inexact(dtypes.result_type(a, weights))
    a, weights = converted(a, dtype), converted(weights, dtype)
    if a.aval.shape != weights.aval.shape:
        weights = placed_weights(a, weights, axis)
    axes = axes_of("average", axis, a.aval.ndim)
    total = lax.reduce_sum(weights, axes)
    out = lax.div(lax.reduce_sum(lax.mul(a, weights), axes), total)
    if keepdims:
        out, total = keep_dims(out, axes), keep_dims(total, axes)
    return (out, total) if returned else out


def _at_least_one(n: int) -> int:
    return n or 1


def placed_weights(a: Any, weights: Any, axis: Any) -> Any:
    """Weights of the sizes of ``a`` along ``axis``, in the order of its numbers, repeated to the shape of
    ``a``.
    """
    if axis is None:
        raise ValueError(
            f"average: weights of the shape {weights.aval.shape} differ from "
            f"{a.aval.str_short()}; then axis must say which dimensions they belong to"
        )
    at = [axis_of("average", d, a.aval.ndim) for d in (axis if isinstance(axis, tuple) else (axis,))]
    needed = tuple([a.aval.shape[d] for d in at])
    if weights.aval.shape != needed:
        raise ValueError(
            f"average: weights along axis {axis} of {a.aval.str_short()} need the shape {needed}, "
            f"got {weights.aval.shape}"
        )
    order = sorted(range(len(at)), key=at.__getitem__)
    return lax.broadcast_in_dim(lax.transpose(weights, order), a.aval.shape, tuple(sorted(at)))


VARIANCE = (*STATIC, "ddof", "correction")


def variance(
    name: str,
    a: Value,
    axis: int | Sequence[int] | None,
    dtype: Any,
    out: Any,
    ddof: float,
    keepdims: Any,
    where: Any,
    correction: Any,
    mean: Value | None = None,
) -> tuple[Value | DType, ...]:
    """The variance in the dtype of the computation, and the dtype that the result should have."""
    check(name, a)
    no_out(name, out)
    if correction is not None and ddof:
        raise ValueError(f"{name}: give ddof or correction, not both")
    ddof = ddof if correction is None else correction
    wanted = requested(dtype, float_of(a))
    if dtypes.kind(wanted) not in "fc":
        raise ValueError(f"{name}: dtype must be a float dtype, got {wanted.name}")
    tiny = dtype is not None and dtypes.itemsize_bits(float_of(a)) < 16  # it has no common dtype with others
    inside = computed_in(wanted if tiny else dtypes.result_type(float_of(a), wanted))
    a = converted(a, inside)
    axes = axes_of(name, axis, a.aval.ndim)
    count = count_of(name, a, axis, where, True)
    if mean is None:
        center = divided(reduced(name, lax.reduce_sum, a, axis, True, where, 0), count)
    else:
        check(name, mean)
        center = converted(mean, inside)
    deviation = lax.sub(a, spread_to(center, a.aval.shape))
    if kind_of(a) == "c":
        square = lax.add(lax.square(lax.real(deviation)), lax.square(lax.imag(deviation)))
        wanted = real_of(wanted) if dtype is None else wanted
    else:
        square = lax.square(deviation)
    total = reduced(name, lax.reduce_sum, square, axis, keepdims, where, 0)
    if isinstance(count, numbers.Integral):
        return divided_by_rest(total, count - ddof), wanted
    count = count if keepdims or isinstance(count, SymbolicDimension) else lax.squeeze(count, axes)
    return lax.div(total, lax.sub(converted(count, total.aval.dtype), float(ddof))), wanted


def divided_by_rest(total: Value, rest: Any) -> Value:
    """A sum over the degrees of freedom; none or fewer give NaN."""
    return lax.div(total, float(rest)) if rest > 0 else lax.full_like(total, math.nan)


@fused(static=VARIANCE)
def var(
    a: Value,
    axis: int | Sequence[int] | None = None,
    dtype: DTypeLike | None = None,
    out: Any = None,
    ddof: float = 0,
    keepdims: bool = False,
    *,
    where: Value = None,
    mean: Value | None = None,
    correction: Any = None,
) -> Value:
    """The mean of the squared deviations from the mean over axes; real also for complex ``a``.

    Args:
      a: an array.
      axis: an int or a tuple of ints; None for all.
      dtype: of the result.
      ddof: what to subtract from the count that the sum of squares is divided by; ``correction`` is the
        same.
      keepdims: keep reduced dimensions with size 1.
      where: a boolean array: which elements count.
      mean: the mean, if it is known already: a number or an array that broadcasts to the shape of ``a``.

    Example:
      >>> rnp.var(rnp.array([1.0, 3.0]))
      Array(1., dtype=float32)
      >>> rnp.var(rnp.array([1.0, 3.0]), ddof=1)
      Array(2., dtype=float32)
    """
    value, dtype = variance("var", a, axis, dtype, out, ddof, keepdims, where, correction, mean)
    return converted(value, dtype)


@fused(static=VARIANCE)
def std(
    a: Value,
    axis: int | Sequence[int] | None = None,
    dtype: DTypeLike | None = None,
    out: Any = None,
    ddof: float = 0,
    keepdims: bool = False,
    *,
    where: Value = None,
    mean: Value = None,
    correction: Any = None,
) -> Value:
    """The square root of the variance over axes. Arguments as for ``var``.

    Example:
      >>> rnp.std(rnp.array([1.0, 3.0]))
      Array(1., dtype=float32)
      >>> rnp.std(rnp.array([1.0, 3.0]), ddof=1)
      Array(1.4142135, dtype=float32)
    """
    value, dtype = variance("std", a, axis, dtype, out, ddof, keepdims, where, correction, mean)
    return converted(root_of_size(value), dtype)


__all__ = ["average", "mean", "std", "var"]
