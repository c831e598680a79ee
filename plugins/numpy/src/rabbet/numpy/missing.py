"""Reductions that pass over NaN: each puts the neutral number in its place and reduces as usual."""

import math

import numpy as np

from rabbet import lax
from rabbet.extend import fused, typeof
from rabbet.numpy.arguments import as_array, axes_of, check, keep_dims, kind_of
from rabbet.numpy.cumulative import cumprod, cumsum
from rabbet.numpy.logic import isnan
from rabbet.numpy.reductions import STATIC, argmax, argmin, converted, max, min, prod, spread_to, sum
from rabbet.numpy.reductions import all as every
from rabbet.numpy.selection import choose_by
from rabbet.numpy.statistics import VARIANCE, float_of, mean, var


def without_nan(name, a, neutral):
    """``a`` with a number in the place of NaN; integers have none."""
    check(name, a)
    a = as_array(a)
    if kind_of(a) not in "fc":
        return a
    return lax.select(lax.ne(a, a), lax.full_like(a, neutral), a)


@fused(static=STATIC)
def nansum(a, axis=None, dtype=None, out=None, keepdims=False, initial=None, where=None):
    """``sum`` of the elements that are not NaN."""
    return sum(without_nan("nansum", a, 0), axis, dtype, out, keepdims, initial, where)


@fused(static=STATIC)
def nanprod(a, axis=None, dtype=None, out=None, keepdims=False, initial=None, where=None):
    """``prod`` of the elements that are not NaN."""
    return prod(without_nan("nanprod", a, 1), axis, dtype, out, keepdims, initial, where)


@fused(static=STATIC)
def nancumsum(a, axis=None, dtype=None, out=None):
    """``cumsum`` with NaN counted as 0."""
    return cumsum(without_nan("nancumsum", a, 0), axis, dtype, out)


@fused(static=STATIC)
def nancumprod(a, axis=None, dtype=None, out=None):
    """``cumprod`` with NaN counted as 1."""
    return cumprod(without_nan("nancumprod", a, 1), axis, dtype, out)


def nan_extreme(name, function, loser, a, axis, out, keepdims, initial, where):
    """The extreme of the numbers; NaN where there are none."""
    found = function(without_nan(name, a, loser), axis, out, keepdims, initial, where)
    if kind_of(a) != "f" or initial is not None:
        return found
    return choose_by(every(isnan(a), axis, keepdims=keepdims), math.nan, found)


@fused(static=STATIC)
def nanmax(a, axis=None, out=None, keepdims=False, initial=None, where=None):
    """``max`` of the elements that are not NaN; NaN if there are none."""
    return nan_extreme("nanmax", max, -math.inf, a, axis, out, keepdims, initial, where)


@fused(static=STATIC)
def nanmin(a, axis=None, out=None, keepdims=False, initial=None, where=None):
    """``min`` of the elements that are not NaN; NaN if there are none."""
    return nan_extreme("nanmin", min, math.inf, a, axis, out, keepdims, initial, where)


def nan_position(name, function, loser, a, axis, out, keepdims):
    """The position of an extreme among the numbers; -1 where there are none."""
    found = function(without_nan(name, a, loser), axis, out, keepdims)
    if kind_of(a) != "f":
        return found
    return choose_by(every(isnan(a), axis, keepdims=bool(keepdims)), -1, found)


@fused(static=STATIC)
def nanargmax(a, axis=None, out=None, keepdims=None):
    """``argmax`` among the elements that are not NaN; -1 if there are none."""
    return nan_position("nanargmax", argmax, -math.inf, a, axis, out, keepdims)


@fused(static=STATIC)
def nanargmin(a, axis=None, out=None, keepdims=None):
    """``argmin`` among the elements that are not NaN; -1 if there are none."""
    return nan_position("nanargmin", argmin, math.inf, a, axis, out, keepdims)


def numbers_only(name, a, where):
    """The mask of the elements that count."""
    there = lax.bitwise_not(isnan(a))
    return there if where is None else lax.bitwise_and(there, spread_to(where, typeof(a).shape))


@fused(static=STATIC)
def nanmean(a, axis=None, dtype=None, out=None, keepdims=False, where=None):
    """``mean`` of the elements that are not NaN; NaN if there are none."""
    check("nanmean", a)
    return mean(
        without_nan("nanmean", a, 0), axis, dtype, out, keepdims, where=numbers_only("nanmean", a, where)
    )


@fused(static=VARIANCE)
def nanvar(a, axis=None, dtype=None, out=None, ddof=0, keepdims=False, where=None):
    """``var`` of the elements that are not NaN; NaN if there are not more than ``ddof``."""
    check("nanvar", a)
    mask = numbers_only("nanvar", a, where)
    value = var(without_nan("nanvar", a, 0), axis, dtype, out, ddof, keepdims, where=mask)
    axes = axes_of("nanvar", axis, typeof(a).ndim)
    count = lax.reduce_sum(lax.convert_element_type(mask, "int32"), axes)
    count = keep_dims(count, axes) if keepdims else count
    return choose_by(lax.le(count, ddof), math.nan, value)


@fused(static=VARIANCE)
def nanstd(a, axis=None, dtype=None, out=None, ddof=0, keepdims=False, where=None):
    """``std`` of the elements that are not NaN; NaN if there are not more than ``ddof``."""
    return lax.sqrt(nanvar(a, axis, dtype, out, ddof, keepdims, where))


# --------------------------------------------------------------------------------------------- quantiles
METHODS = ("linear", "lower", "higher", "midpoint", "nearest")
QUANTILE = ("axis", "out", "overwrite_input", "method", "keepdims", "interpolation")


def lined_up(a, axis, keepdims):
    """``a`` with the axes made one, in front; and the shape of a result."""
    axes = axes_of("quantile", axis, a.ndim)
    kept = [d for d in range(a.ndim) if d not in axes]
    shape = tuple([a.shape[d] for d in kept])
    n = math.prod([a.shape[d] for d in axes])
    lined = lax.reshape(lax.transpose(a, (*axes, *kept)), (n, *shape))
    return lined, (tuple([1 if d in axes else s for d, s in enumerate(a.shape)]) if keepdims else shape)


def quantile_of(name, a, q, axis, method, keepdims, skip_nan, scale):
    """Elements of the sorted line on both sides of each place, and a mean of the two."""
    check(name, a, q)
    if method not in METHODS:
        raise ValueError(f"{name}: method must be one of {', '.join(METHODS)}, got {method!r}")
    if kind_of(a) == "c":
        raise ValueError(f"{name} is not defined on complex numbers, which have no order")
    dtype = float_of(a)
    a, q = converted(a, dtype), converted(q, dtype)
    q = lax.div(q, scale) if scale != 1.0 else q
    lined, shape = lined_up(a, axis, keepdims)
    n = lined.shape[0]
    if not n:
        return lax.full((*q.shape, *shape), math.nan, dtype)
    nan = lax.ne(lined, lined)
    ordered = lax.sort(lined, 0)
    many = lax.reshape(q, (q.size, *[1] * (lined.ndim - 1)))
    full = (q.size, *lined.shape[1:])
    if skip_nan:
        count = lax.reduce_sum(converted(lax.bitwise_not(nan), dtype), (0,))
        last = lax.sub(spread_to(count, full), 1.0)
    else:
        last = lax.full(full, float(n - 1), dtype)
    place = lax.mul(spread_to(many, full), last)
    out = between_neighbours(ordered, place, last, method)
    if not skip_nan:
        out = choose_by(lax.reduce_or(nan, (0,)), math.nan, out)
    return converted(lax.reshape(out, (*q.shape, *shape)), dtype)


def between_neighbours(ordered, place, last, method):
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


def even_neighbour(low, below, above):
    """On a tie, the element at the even place."""
    return lax.select(lax.eq(lax.rem(low, 2.0), 0.0), below, above)


def picked(ordered, place):
    """The elements at whole places along the first dimension."""
    from rabbet.numpy.indexing import gathered

    return gathered(ordered, lax.convert_element_type(place, "int32"), 0, "clip", None)


@fused(static=QUANTILE)
def quantile(a, q, axis=None, out=None, overwrite_input=False, method="linear", keepdims=False):
    """The values below which the shares ``q`` of the elements over axes lie; NaN if there is a NaN.

    Args:
      a: an array.
      q: numbers from 0 to 1; their dimensions come first in the result.
      axis: an int or a tuple of ints; None for all.
      method: between two elements: ``"linear"``, ``"lower"``, ``"higher"``, ``"midpoint"`` or ``"nearest"``.
      keepdims: keep reduced dimensions with size 1.
    """
    return quantile_of("quantile", a, q, axis, method, keepdims, False, 1.0)


@fused(static=QUANTILE)
def percentile(a, q, axis=None, out=None, overwrite_input=False, method="linear", keepdims=False):
    """``quantile`` with ``q`` from 0 to 100."""
    return quantile_of("percentile", a, q, axis, method, keepdims, False, 100.0)


@fused(static=QUANTILE)
def nanquantile(a, q, axis=None, out=None, overwrite_input=False, method="linear", keepdims=False):
    """``quantile`` of the elements that are not NaN."""
    return quantile_of("nanquantile", a, q, axis, method, keepdims, True, 1.0)


@fused(static=QUANTILE)
def nanpercentile(a, q, axis=None, out=None, overwrite_input=False, method="linear", keepdims=False):
    """``percentile`` of the elements that are not NaN."""
    return quantile_of("nanpercentile", a, q, axis, method, keepdims, True, 100.0)


@fused(static=QUANTILE)
def median(a, axis=None, out=None, overwrite_input=False, keepdims=False):
    """The middle element over axes, of an even number the mean of the middle two; NaN if there is a NaN."""
    return quantile_of("median", a, np.float32(0.5), axis, "midpoint", keepdims, False, 1.0)


@fused(static=QUANTILE)
def nanmedian(a, axis=None, out=None, overwrite_input=False, keepdims=False):
    """``median`` of the elements that are not NaN."""
    return quantile_of("nanmedian", a, np.float32(0.5), axis, "midpoint", keepdims, True, 1.0)


__all__ = [
    "median",
    "nanargmax",
    "nanargmin",
    "nancumprod",
    "nancumsum",
    "nanmax",
    "nanmean",
    "nanmedian",
    "nanmin",
    "nanpercentile",
    "nanprod",
    "nanquantile",
    "nanstd",
    "nansum",
    "nanvar",
    "percentile",
    "quantile",
]
