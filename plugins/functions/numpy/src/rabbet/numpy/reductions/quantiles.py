"""Quantiles, percentiles, medians, of all elements or of those that are not NaN."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from rabbet import dtypes, lax
from rabbet.errors import DTypeError
from rabbet.extend.functions import fused, obeys_out_sharding
from rabbet.numpy.elementwise.selection_and_rounding import choose_by
from rabbet.numpy.reductions.reducing import converted, spread_to
from rabbet.numpy.reductions.statistics import float_of
from rabbet.numpy.support.arguments import axes_of, check, kind_of, no_out

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rabbet.typing import Value

METHODS = ("linear", "lower", "higher", "midpoint", "nearest", "inverted_cdf")
QUANTILE = ("axis", "out", "overwrite_input", "method", "keepdims", "interpolation")


def lined_up(a: Value, axis: int | Sequence[int] | None, keepdims: bool) -> Any:
    """``a`` with the axes made one, in front; and the shape of a result."""
    axes = axes_of("quantile", axis, a.ndim)
    kept = [d for d in range(a.ndim) if d not in axes]
    shape = tuple([a.shape[d] for d in kept])
    n = math.prod([a.shape[d] for d in axes])
    lined = lax.reshape(lax.transpose(a, (*axes, *kept)), (n, *shape))
    return lined, (tuple([1 if d in axes else s for d, s in enumerate(a.shape)]) if keepdims else shape)


def quantile_of(
    name: Any,
    a: Any,
    q: Any,
    axis: Any,
    method: Any,
    keepdims: Any,
    skip_nan: Any,
    scale: Any,
    weights: Any = None,
) -> Any:
    """The quantiles of the line of elements along the axes, its own dimension in front."""
    check(name, a, q)
    if method not in METHODS:
        raise ValueError(f"{name}: method must be one of {', '.join(METHODS)}, got {method!r}")
    if weights is not None and method != "inverted_cdf":
        raise NotImplementedError(f"{name}: only the method 'inverted_cdf' takes weights, got {method!r}")
    if kind_of(a) == "c":
        raise DTypeError(f"{name} is not defined on complex numbers, which have no order")
    dtype = float_of(a)
    # Half precision cannot count places.
    work = dtype if dtypes.itemsize_bits(dtype) > 32 else np.dtype("float32")
    a, q = converted(a, work), converted(q, work)
    q = lax.div(q, scale) if scale != 1.0 else q
    lined, shape = lined_up(a, axis, keepdims)
    n = lined.shape[0]
    if not n:
        return lax.full((*q.shape, *shape), math.nan, dtype)
    nan = lax.ne(lined, lined)
    many = spread_to(lax.reshape(q, (q.size, *[1] * (lined.ndim - 1))), (q.size, *lined.shape[1:]))
    if weights is not None:
        shares = lined_weights(name, a, weights, axis)
        shares = lax.select(nan, lax.full_like(shares, 0), shares) if skip_nan else shares
        out = of_shares(lined, shares, many)
    else:
        last = lax.full(many.shape, float(n - 1), work)
        if skip_nan:
            last = lax.sub(last, spread_to(lax.reduce_sum(converted(nan, work), (0,)), many.shape))
        out = at_place(lax.sort(lined, 0), many, last, method)
    if not skip_nan:
        out = choose_by(lax.reduce_or(nan, (0,)), math.nan, out)
    return converted(lax.reshape(out, (*q.shape, *shape)), dtype)


def lined_weights(name: str, a: Value, weights: Value, axis: int | Sequence[int] | None) -> Any:
    """The weight of each element, lined up as the elements are."""
    check(name, weights)
    weights = converted(weights, a.dtype)
    axes = axes_of(name, axis, a.ndim)
    along = tuple([a.shape[d] for d in axes])
    if weights.shape == along:
        order = sorted(range(len(axes)), key=axes.__getitem__)
        weights = lax.broadcast_in_dim(lax.transpose(weights, order), a.shape, sorted(axes))
    elif weights.shape != a.shape:
        raise ValueError(
            f"{name}: weights of the shape {weights.shape} fit neither {a.aval.str_short()} nor its axes "
            f"{axis}, which have the shape {along}"
        )
    return lined_up(weights, axis, False)[0]


def of_shares(lined: Value, shares: Value, q: Value) -> Any:
    """The first element at which the sum of the shares, of all in the order of size, reaches ``q``. Elements
    without a share do not count; without any, or with a negative one, there is no such element.
    """
    ordered, shares = lax.sort((lined, shares), 0, num_keys=1)
    reached = lax.cumsum(shares, 0)
    total = reached[-1]  # to the last digit what the sum comes to
    reached = lax.div(reached, spread_to(total, shares.shape))
    reached = lax.select(lax.gt(reached, 0.0), reached, lax.full_like(reached, -1))
    below = lax.lt(lax.expand_dims(reached, (0,)), lax.expand_dims(q, (1,)))
    place = lax.reduce_sum(converted(below, "int32"), (1,))
    places = lax.broadcasted_iota("int32", shares.shape, 0)
    last = lax.reduce_max(lax.select(lax.gt(shares, 0.0), places, lax.full_like(places, 0)), (0,))
    bad = lax.bitwise_or(lax.bitwise_not(lax.gt(total, 0.0)), lax.lt(lax.reduce_min(shares, (0,)), 0.0))
    return choose_by(bad, math.nan, picked(ordered, lax.min(place, spread_to(last, place.shape))))


def at_place(ordered: Value, q: Value, last: Value, method: str) -> Any:
    """The value at the share ``q`` of the way to the place ``last``."""
    if method == "inverted_cdf":
        place = lax.sub(lax.ceil(lax.mul(q, lax.add(last, 1.0))), 1.0)
        return picked(ordered, lax.max(lax.min(place, last), 0.0))
    return between_neighbours(ordered, lax.mul(q, last), last, method)


def between_neighbours(ordered: Value, place: Value, last: Value, method: str) -> Value:
    """The value at a place that may lie between two elements."""
    low, high = lax.floor(place), lax.ceil(place)
    share = lax.sub(place, low)
    low, high = [lax.max(lax.min(p, last), 0.0) for p in (low, high)]
    below, above = picked(ordered, low), picked(ordered, high)
    if method == "linear":
        return lax.add(lax.mul(below, lax.sub(1.0, share)), lax.mul(above, share))
    if method == "nearest":
        return lax.select(
            lax.lt(share, 0.5), below, choose_by(lax.gt(share, 0.5), above, even_neighbour(low, below, above))
        )
    return {"lower": below, "higher": above, "midpoint": lax.mul(lax.add(below, above), 0.5)}[method]


def even_neighbour(low: Any, below: Any, above: Any) -> Any:
    """On a tie, the element at the even place."""
    return lax.select(lax.eq(lax.rem(low, 2.0), 0.0), below, above)


def picked(ordered: Value, place: Value) -> Value:
    """The elements at whole places along the first dimension."""
    from rabbet.numpy.indexing.taking import gathered

    return gathered(ordered, lax.convert_element_type(place, "int32"), 0, "clip", None)


@fused(static=QUANTILE)
def quantile(
    a: Value,
    q: Value,
    axis: int | Sequence[int] | None = None,
    out: Any = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    *,
    weights: Value | None = None,
) -> Value:
    """The values below which the shares ``q`` of the elements over axes lie; NaN if there is a NaN.

    Args:
      a: an array.
      q: numbers from 0 to 1; their dimensions come first in the result.
      axis: an int or a tuple of ints; None for all.
      overwrite_input: without effect: ``a`` stays as it is.
      method: between two elements: ``"linear"``, ``"lower"``, ``"higher"``, ``"midpoint"`` or
        ``"nearest"``; or ``"inverted_cdf"``: the first element at which a share of ``q`` is reached.
      keepdims: keep reduced dimensions with size 1.
      weights: for ``"inverted_cdf"``: the share of each element, an array of the shape of ``a`` or of its
        axes. Elements of weight 0 do not count; a negative weight, or none above 0, gives NaN.

    Raises:
      NotImplementedError: for ``weights`` with another method. ValueError: for an unknown method, weights of
        another shape, or complex numbers.

    Example:
      >>> rnp.quantile(rnp.arange(5.0), rnp.array([0.25, 0.5]))
      Array([1., 2.], dtype=float32)
    """
    no_out("quantile", out)
    return quantile_of("quantile", a, q, axis, method, keepdims, False, 1.0, weights)


@obeys_out_sharding
@fused(static=QUANTILE)
def percentile(
    a: Value,
    q: Value,
    axis: int | Sequence[int] | None = None,
    out: Any = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    *,
    weights: Value | None = None,
    out_sharding: Any = None,
) -> Value:
    """``quantile`` with ``q`` from 0 to 100. ``overwrite_input`` has no effect.

    Example:
      >>> rnp.percentile(rnp.arange(5.0), rnp.array([25, 50]))
      Array([1., 2.], dtype=float32)
    """
    no_out("percentile", out)
    return quantile_of("percentile", a, q, axis, method, keepdims, False, 100.0, weights)


@fused(static=QUANTILE)
def nanquantile(
    a: Value,
    q: Value,
    axis: int | Sequence[int] | None = None,
    out: Any = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    *,
    weights: Value | None = None,
) -> Value:
    """``quantile`` of the elements that are not NaN. ``overwrite_input`` has no effect.

    Example:
      >>> rnp.nanquantile(rnp.array([1.0, rnp.nan, 3.0]), 0.5)
      Array(2., dtype=float32)
    """
    no_out("nanquantile", out)
    return quantile_of("nanquantile", a, q, axis, method, keepdims, True, 1.0, weights)


@fused(static=QUANTILE)
def nanpercentile(
    a: Value,
    q: Value,
    axis: int | Sequence[int] | None = None,
    out: Any = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    *,
    weights: Value = None,
) -> Value:
    """``percentile`` of the elements that are not NaN. ``overwrite_input`` has no effect.

    Example:
      >>> rnp.nanpercentile(rnp.array([1.0, rnp.nan, 3.0]), 50)
      Array(2., dtype=float32)
    """
    no_out("nanpercentile", out)
    return quantile_of("nanpercentile", a, q, axis, method, keepdims, True, 100.0, weights)


@fused(static=QUANTILE)
def median(
    a: Value,
    axis: int | Sequence[int] | None = None,
    out: Any = None,
    overwrite_input: bool = False,
    keepdims: bool = False,
) -> Value:
    """The middle element over axes, of an even number the mean of the middle two; NaN if there is a NaN.
    ``overwrite_input`` has no effect.

    Example:
      >>> rnp.median(rnp.array([[1.0, 2.0, 9.0], [4.0, 3.0, 8.0]]), axis=1)
      Array([2., 4.], dtype=float32)
    """
    no_out("median", out)
    return quantile_of("median", a, np.float32(0.5), axis, "midpoint", keepdims, False, 1.0)


@fused(static=QUANTILE)
def nanmedian(
    a: Value,
    axis: int | Sequence[int] | None = None,
    out: Any = None,
    overwrite_input: bool = False,
    keepdims: bool = False,
) -> Value:
    """``median`` of the elements that are not NaN. ``overwrite_input`` has no effect.

    Example:
      >>> rnp.nanmedian(rnp.array([1.0, rnp.nan, 3.0]))
      Array(2., dtype=float32)
    """
    no_out("nanmedian", out)
    return quantile_of("nanmedian", a, np.float32(0.5), axis, "midpoint", keepdims, True, 1.0)


__all__ = ["median", "nanmedian", "nanpercentile", "nanquantile", "percentile", "quantile"]
