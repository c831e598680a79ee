"""Functions over an axis: softmax and its relatives, standardization, one-hot codes.

Exponentials are taken of differences to the maximum, so that none overflows. The maximum drops out of the
result, so it is kept out of the derivative with ``stop_gradient``.
"""

from __future__ import annotations

import math
import operator
from typing import TYPE_CHECKING

import rabbet.numpy as rnp
from rabbet import dtypes, lax
from rabbet.extend.functions import fused, obeys_out_sharding
from rabbet.extend.rules import axis_in_range
from rabbet.extend.shapes import dimension_of
from rabbet.extend.transform import typeof
from rabbet.nn.activations import as_float
from rabbet.nn.shares import back, log_of_powers, log_of_shares, shares_of_powers

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from rabbet.typing import DTypeLike, Value

STATIC = ("axis",)


def axes_of(name, axis, ndim):
    """A tuple of non-negative axes; None: all."""
    axes = range(ndim) if axis is None else axis if isinstance(axis, (tuple, list)) else (axis,)
    return tuple([axis_in_range(name, operator.index(a), ndim) for a in axes])


def floor_like(x):
    """The value that loses against every other, in the shape of ``x``: minus infinity, where there is one."""
    return lax.full_like(x, dtypes.spec(x.dtype).lowest)


def shift(x, axes):
    """``x`` less its maximum over axes, and that maximum, not differentiated; an infinite maximum counts as
    0.

    What is reduced has no tangent already: the rule for maxima would keep ``x`` apart from what made it, and
    loops that hold a barrier are not compiled as one kernel on CPUs.
    """
    top = lax.reduce_max(lax.stop_gradient(lax.real(x) if dtypes.kind(x.dtype) == "c" else x), axes)
    top = lax.select(lax.is_finite(top), top, lax.full_like(top, 0))
    if dtypes.kind(x.dtype) == "c":
        return lax.sub(x, lax.convert_element_type(back(top, axes, x.shape), x.dtype)), top
    return lax.sub(x, back(top, axes, x.shape)), top


def mask_of(where, x):
    """A mask in the shape of ``x``."""
    return rnp.broadcast_to(where, x.shape)


@fused(static=STATIC)
def softmax(x: Value, axis: int | Sequence[int] | None = -1, where: Value = None) -> Value:
    """``exp(x) / sum(exp(x))`` over ``axis``: positive numbers that add up to 1.

    Args:
      x: an array.
      axis: an int, a tuple, or None for all.
      where: a boolean array: which elements count; the others are 0.

    Example:
      >>> nn.softmax(rnp.array([[0.0, 0.0], [0.0, 100.0]]))
      Array([[0.5, 0.5],
             [0. , 1. ]], dtype=float32)
    """
    x = as_float("softmax", x, weak=False)
    axes = axes_of("softmax", axis, x.ndim)
    if where is not None:
        where = mask_of(where, x)
        x = lax.select(where, x, floor_like(x))
    out = shares_of_powers(x, axes=axes)
    return out if where is None else lax.select(where, out, lax.full_like(out, 0))


@fused(static=STATIC)
def log_softmax(x: Value, axis: int | Sequence[int] | None = -1, where: Value = None) -> Value:
    """``x - log(sum(exp(x)))`` over ``axis``: the logarithm of ``softmax``, exact also where that is tiny.
    Arguments as for ``softmax``.

    Example:
      >>> nn.log_softmax(rnp.array([0.0, 0.0]))
      Array([-0.6931472, -0.6931472], dtype=float32)
    """
    x = as_float("log_softmax", x, weak=False)
    axes = axes_of("log_softmax", axis, x.ndim)
    if where is not None:
        where = mask_of(where, x)
        x = lax.select(where, x, floor_like(x))
    out = log_of_shares(x, axes=axes)
    return out if where is None else lax.select(where, out, floor_like(out))


@fused(static=("axis", "keepdims", "return_sign"))
def logsumexp(
    a: Value,
    axis: int | Sequence[int] | None = None,
    b: Value = None,
    keepdims: bool = False,
    return_sign: bool = False,
    where: Value = None,
) -> Any:
    """``log(sum(exp(a)))`` over ``axis`` without overflow.

    Args:
      a: an array.
      axis: an int, a tuple, or None for all.
      b: factors of the exponentials, an array that broadcasts.
      keepdims: keep reduced dimensions with size 1.
      return_sign: return ``(log |sum|, sign of the sum)``, for negative factors; of complex numbers the sign
        is the sum divided by its size.
      where: a boolean array: which elements count.

    Example:
      >>> nn.logsumexp(rnp.array([1000.0, 1000.0]))
      Array(1000.6932, dtype=float32)
    """
    a = as_float("logsumexp", a, weak=False)
    if b is not None:
        a, b = rnp.broadcast_arrays(a, lax.convert_element_type(b, a.dtype))
        a = lax.select(lax.ne(b, 0.0), a, floor_like(a))
    axes = axes_of("logsumexp", axis, a.ndim)
    if where is not None:
        a = lax.select(mask_of(where, a), a, floor_like(a))
    if b is None and dtypes.kind(a.dtype) == "f" and not return_sign:
        out = log_of_powers(a, axes=axes)
        return lax.expand_dims(out, axes) if keepdims else out
    shifted, top = shift(a, axes)
    powers = lax.exp(shifted)
    total = lax.reduce_sum(powers if b is None else lax.mul(b, powers), axes)
    sign = lax.sign(total)
    if return_sign:
        total = lax.abs(total)
    out = lax.log(total)
    out = lax.add(out, lax.convert_element_type(top, out.dtype))
    if keepdims:
        out, sign = lax.expand_dims(out, axes), lax.expand_dims(sign, axes)
    return (out, sign) if return_sign else out


@fused(static=("axis", "keepdims"))
def logmeanexp(
    x: Value, axis: int | Sequence[int] | None = None, where: Value = None, keepdims: bool = False
) -> Value:
    """``log(mean(exp(x)))`` over ``axis`` without overflow. Arguments as for ``logsumexp``.

    Example:
      >>> nn.logmeanexp(rnp.array([1000.0, 1000.0]))
      Array(1000., dtype=float32)
    """
    x = as_float("logmeanexp", x, weak=False)
    total = logsumexp(x, axis, where=where, keepdims=keepdims)
    if where is None:
        return lax.sub(total, math.log(math.prod([x.shape[d] for d in axes_of("logmeanexp", axis, x.ndim)])))
    count = rnp.count_nonzero(mask_of(where, x), axis, keepdims)
    return lax.sub(total, lax.log(lax.convert_element_type(count, x.dtype)))


@fused(static=STATIC)
def standardize(
    x: Value,
    axis: int | Sequence[int] | None = -1,
    mean: Value = None,
    variance: Value | None = None,
    epsilon: Value = 1e-5,
    where: Value = None,
    *,
    algorithm: str = "fast",
) -> Value:
    """``x`` less its mean over ``axis``, divided by the root of its variance.

    Args:
      x: an array.
      axis: an int, a tuple, or None for all.
      mean, variance: to use instead of those of ``x``; both broadcast.
      epsilon: added to the variance.
      where: a boolean array: which elements count for mean and variance.
      algorithm: ``"fast"`` or ``"stable"``; here both are the mean of squared deviations.

    Raises:
      ValueError: for another algorithm.

    Example:
      >>> nn.standardize(rnp.array([1.0, 3.0]))
      Array([-0.999995,  0.999995], dtype=float32)
    """
    if algorithm not in ("fast", "stable"):
        raise ValueError(f"standardize: algorithm must be 'fast' or 'stable', got {algorithm!r}")
    x = as_float("standardize", x, weak=False)
    if mean is None:
        mean = rnp.mean(x, axis, keepdims=True, where=where)
    if variance is None:
        variance = rnp.mean(lax.square(x - mean), axis, keepdims=True, where=where)
    return (x - mean) * lax.rsqrt(rnp.add(variance, epsilon))


@obeys_out_sharding
@fused(static=("num_classes", "dtype", "axis"))
def one_hot(
    x: Value, num_classes: int, *, dtype: DTypeLike | None = None, axis: Any = -1, out_sharding: Any = None
) -> Value:
    """Vectors with a 1 at the place that ``x`` names, 0 elsewhere, along a new dimension; all 0 for a place
    outside.

    Args:
      x: integers.
      num_classes: the length of the vectors.
      dtype: of the result, by default float32.
      axis: where the new dimension stands in the result.

    Example:
      >>> nn.one_hot(rnp.array([0, 2]), 3)
      Array([[1., 0., 0.],
             [0., 0., 1.]], dtype=float32)
    """
    x = rnp.asarray(x)
    if dtypes.kind(x.dtype) == "b":  # which count to 1 only
        x = x.astype("int32")
    size = dimension_of(num_classes)
    axis = operator.index(axis)
    if not -x.ndim - 1 <= axis <= x.ndim:
        raise ValueError(f"one_hot: axis {axis} is out of range for a result of {x.ndim + 1} dimensions")
    axis %= x.ndim + 1
    shape = (*x.shape[:axis], size, *x.shape[axis:])
    counted = lax.broadcasted_iota(x.dtype if dtypes.kind(x.dtype) in "iu" else "int32", shape, axis)
    spread = lax.broadcast_in_dim(x, shape, tuple([d for d in range(len(shape)) if d != axis]))
    if typeof(spread).dtype != typeof(counted).dtype:
        counted = lax.convert_element_type(counted, spread.dtype)
    return lax.convert_element_type(
        lax.eq(spread, counted), dtypes.scalar_dtype(float) if dtype is None else dtypes.canonicalize(dtype)
    )


__all__ = ["log_softmax", "logmeanexp", "logsumexp", "one_hot", "softmax", "standardize"]
