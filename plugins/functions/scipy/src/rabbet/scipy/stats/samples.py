"""Functions of samples: mode, ranks, the standard error of the mean."""

import math
from typing import NamedTuple

import rabbet.numpy as rnp
from rabbet import Array, dtypes, lax
from rabbet.extend.functions import fused, public_module
from rabbet.extend.rules import axis_in_range
from rabbet.scipy.arguments import ArrayLike, check, concrete, inexact

METHODS = ("average", "min", "max", "dense", "ordinal")


class ModeResult(NamedTuple):
    """The most frequent values, and how often they occur."""

    mode: Array
    count: Array  # type: ignore[assignment]  # a tuple has a method of that name


def _policy(name, nan_policy, offered):
    if nan_policy not in ("propagate", "omit", "raise"):
        raise ValueError(f"{name}: nan_policy must be 'propagate', 'omit' or 'raise', got {nan_policy!r}")
    if nan_policy not in offered:
        why = (
            "a compiled function cannot look at values; test with rabbet.numpy.isnan before"
            if nan_policy == "raise"
            else "take the NaNs out before"
        )
        raise NotImplementedError(f"{name}: nan_policy={nan_policy!r} is not offered: {why}")


def _axis(name, axis, ndim):
    return axis_in_range(name, concrete(name, "axis", axis), ndim)


@fused(static=("axis", "nan_policy", "keepdims"))
def mode(
    a: ArrayLike, axis: int | None = 0, nan_policy: str = "propagate", keepdims: bool = False
) -> ModeResult:  # fmt: skip
    """The most frequent value along an axis, the smallest of several.

    Args:
      a: an array of numbers.
      axis: an int, or None: of all elements.
      nan_policy: ``"propagate"``: NaN counts as a value, larger than all others, all NaNs as the same one.
      keepdims: keep the reduced dimension with size 1.

    Returns:
      ``ModeResult(mode, count)``, a named tuple of two arrays.

    >>> [int(v) for v in stats.mode(rnp.array([3, 1, 2, 2, 3]))]
    [2, 2]
    """
    check("mode", a)
    _policy("mode", nan_policy, ("propagate",))
    a = rnp.asarray(a)
    shape = (1,) * a.ndim if axis is None else None
    if axis is None or not a.ndim:
        a, axis = a.ravel(), 0
    axis = _axis("mode", axis, a.ndim)
    size = a.shape[axis]
    if not size:
        raise ValueError(f"mode: there are no elements along axis {axis} of an array of the shape {a.shape}")
    ordered = rnp.moveaxis(rnp.sort(a, axis), axis, -1)
    before, after = ordered[..., :-1], ordered[..., 1:]
    same = before == after
    if dtypes.kind(a.dtype) in "fc":
        same = same | ((before != before) & (after != after))
    # Where a run starts, and how long it is at each element.
    at = lax.broadcasted_iota("int32", ordered.shape, ordered.ndim - 1)
    starts = rnp.concatenate([rnp.ones((*ordered.shape[:-1], 1), bool), ~same], -1)
    start = lax.cummax(rnp.where(starts, at, 0), axis=ordered.ndim - 1)
    length = at - start + 1
    best = rnp.argmax(length, -1)[..., None]
    found = [rnp.take_along_axis(x, best, -1)[..., 0] for x in (ordered, length)]
    found[1] = found[1].astype(dtypes.scalar_dtype(int))
    if keepdims:
        found = [x.reshape(shape) if shape is not None else rnp.expand_dims(x, axis) for x in found]
    return ModeResult(*found)


@fused(static=("method", "axis", "nan_policy"))
def rankdata(
    a: ArrayLike, method: str = "average", *, axis: int | None = None, nan_policy: str = "propagate"
) -> Array:  # fmt: skip
    """Ranks of the elements, from 1 on.

    Args:
      a: an array of real numbers.
      method: what equal elements get: ``"average"``, ``"min"`` or ``"max"`` of their ranks; ``"dense"``: the
        same rank,
        after which none is left out; ``"ordinal"``: each its own, in their order.
      axis: along which to rank; None: the array is flattened.
      nan_policy: ``"propagate"``: where there is a NaN all ranks along the axis are NaN.

    Returns:
      floats of the shape of ``a``, or of one dimension for ``axis=None``.

    >>> stats.rankdata(rnp.array([10, 30, 10])).tolist()
    [1.5, 3.0, 1.5]
    """
    check("rankdata", a)
    _policy("rankdata", nan_policy, ("propagate",))
    if method not in METHODS:
        raise ValueError(f"rankdata: method must be one of {', '.join(METHODS)}, got {method!r}")
    a = rnp.asarray(a)
    if axis is None or not a.ndim:
        a, axis = a.ravel(), 0
    axis = _axis("rankdata", axis, a.ndim)
    a = rnp.moveaxis(a, axis, -1)
    dtype = a.dtype if a.dtype == "float64" else dtypes.scalar_dtype(float)
    size, last = a.shape[-1], a.ndim - 1
    order = rnp.argsort(a, -1, stable=True)
    place = rnp.argsort(order, -1, stable=True)
    if method == "ordinal" or not size:
        ranks = lax.convert_element_type(place + 1, dtype)
    else:
        ordered = rnp.take_along_axis(a, order, -1)
        at = lax.broadcasted_iota("int32", ordered.shape, last)
        new = rnp.concatenate([rnp.ones((*a.shape[:-1], 1), bool), ordered[..., 1:] != ordered[..., :-1]], -1)
        ends = rnp.concatenate([new[..., 1:], rnp.ones((*a.shape[:-1], 1), bool)], -1)
        first = lax.cummax(rnp.where(new, at, 0), axis=last)
        final = lax.cummin(rnp.where(ends, at, size), axis=last, reverse=True)
        if method == "dense":
            held = rnp.cumsum(lax.convert_element_type(new, "int32"), -1) - 1
        else:
            held = {"min": first, "max": final, "average": first}[method]
        ranks = lax.convert_element_type(held, dtype) + 1.0
        if method == "average":
            ranks = ranks + 0.5 * lax.convert_element_type(final - first, dtype)
        ranks = rnp.take_along_axis(ranks, place, -1)
    if dtypes.kind(a.dtype) == "f":
        ranks = rnp.where(rnp.isnan(a).any(-1, keepdims=True), math.nan, ranks)
    return rnp.moveaxis(ranks, -1, axis)


@fused(static=("axis", "ddof", "nan_policy", "keepdims"))
def sem(
    a: ArrayLike, axis: int | None = 0, ddof: int = 1, nan_policy: str = "propagate", *,
    keepdims: bool = False,
) -> Array:  # fmt: skip
    """The standard error of the mean: the standard deviation, divided by the root of the number of elements.

    Args:
      a: an array.
      axis: an int, or None: of all elements.
      ddof: what is taken off the number of elements when the variance is computed.
      nan_policy: ``"propagate"``, or ``"omit"``: NaNs do not count.
      keepdims: keep the reduced dimensions with size 1.

    >>> round(float(stats.sem(rnp.array([1.0, 2.0, 4.0]))), 4)
    0.8819
    """
    (a,) = inexact("sem", a)
    _policy("sem", nan_policy, ("propagate", "omit"))
    if nan_policy == "omit":
        count = lax.convert_element_type((~rnp.isnan(a)).sum(axis, keepdims=keepdims), a.real.dtype)
        return rnp.nanstd(a, axis, ddof=ddof, keepdims=keepdims) / lax.sqrt(count)
    size = a.size if axis is None else a.shape[_axis("sem", axis, a.ndim)]
    return (
        rnp.std(a, axis, ddof=ddof, keepdims=keepdims) / math.sqrt(size)
        if size
        else rnp.std(a, axis, ddof=ddof)
    )


__all__ = ["ModeResult", "mode", "rankdata", "sem"]

public_module(globals())
