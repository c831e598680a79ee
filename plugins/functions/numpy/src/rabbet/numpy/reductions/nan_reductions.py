"""Reductions that pass over NaN: each puts the neutral number in its place and reduces as usual."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from rabbet import lax
from rabbet.extend.functions import fused
from rabbet.extend.transform import typeof
from rabbet.numpy.elementwise.hypot import root_of_size
from rabbet.numpy.elementwise.logic import isnan
from rabbet.numpy.elementwise.selection_and_rounding import choose_by
from rabbet.numpy.reductions.cumulative import cumprod, cumsum
from rabbet.numpy.reductions.reducing import STATIC, argmax, argmin, least, max, min, prod, spread_to, sum
from rabbet.numpy.reductions.reducing import all as every
from rabbet.numpy.reductions.statistics import VARIANCE, mean, var
from rabbet.numpy.support.arguments import as_array, axes_of, check, keep_dims, kind_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rabbet.typing import DTypeLike, Value


def without_nan(name: Any, a: Any, neutral: Any) -> Any:
    """``a`` with a number in the place of NaN; integers have none."""
    check(name, a)
    a = as_array(a)
    if kind_of(a) not in "fc":
        return a
    return lax.select(lax.ne(a, a), lax.full_like(a, neutral), a)


def least_of(a: Any, largest: Any) -> Any:
    """The value that loses against every other of the dtype of ``a``."""
    return least(as_array(a).aval.dtype, largest)


@fused(static=STATIC)
def nansum(
    a: Value,
    axis: int | Sequence[int] | None = None,
    dtype: DTypeLike | None = None,
    out: Any = None,
    keepdims: bool = False,
    initial: Value = None,
    where: Value = None,
) -> Value:
    """``sum`` of the elements that are not NaN.

    Example:
      >>> rnp.nansum(rnp.array([2.0, rnp.nan, 3.0]))
      Array(5., dtype=float32)
    """
    return sum(without_nan("nansum", a, 0), axis, dtype, out, keepdims, initial, where)


@fused(static=STATIC)
def nanprod(
    a: Value,
    axis: int | Sequence[int] | None = None,
    dtype: DTypeLike | None = None,
    out: Any = None,
    keepdims: bool = False,
    initial: Value = None,
    where: Value = None,
) -> Value:
    """``prod`` of the elements that are not NaN.

    Example:
      >>> rnp.nanprod(rnp.array([2.0, rnp.nan, 3.0]))
      Array(6., dtype=float32)
    """
    return prod(without_nan("nanprod", a, 1), axis, dtype, out, keepdims, initial, where)


@fused(static=STATIC)
def nancumsum(a: Value, axis: int | None = None, dtype: DTypeLike | None = None, out: Any = None) -> Value:
    """``cumsum`` with NaN counted as 0.

    Example:
      >>> rnp.nancumsum(rnp.array([2.0, rnp.nan, 3.0]))
      Array([2., 2., 5.], dtype=float32)
    """
    return cumsum(without_nan("nancumsum", a, 0), axis, dtype, out)


@fused(static=STATIC)
def nancumprod(a: Value, axis: int | None = None, dtype: DTypeLike | None = None, out: Any = None) -> Value:
    """``cumprod`` with NaN counted as 1.

    Example:
      >>> rnp.nancumprod(rnp.array([2.0, rnp.nan, 3.0]))
      Array([2., 2., 6.], dtype=float32)
    """
    return cumprod(without_nan("nancumprod", a, 1), axis, dtype, out)


def nan_extreme(
    name: Any,
    function: Any,
    largest: Any,
    a: Any,
    axis: Any,
    out: Any,
    keepdims: Any,
    initial: Any,
    where: Any,
) -> Any:
    """The extreme of the numbers; NaN where there are none."""
    found = function(without_nan(name, a, least_of(a, largest)), axis, out, keepdims, initial, where)
    if kind_of(a) not in "fc" or initial is not None:
        return found
    return choose_by(every(isnan(a), axis, keepdims=keepdims), math.nan, found)


@fused(static=STATIC)
def nanmax(
    a: Value,
    axis: int | Sequence[int] | None = None,
    out: Any = None,
    keepdims: bool = False,
    initial: Value = None,
    where: Value = None,
) -> Value:
    """``max`` of the elements that are not NaN; NaN if there are none.

    Example:
      >>> rnp.nanmax(rnp.array([1.0, rnp.nan, 3.0]))
      Array(3., dtype=float32)
    """
    return nan_extreme("nanmax", max, True, a, axis, out, keepdims, initial, where)


@fused(static=STATIC)
def nanmin(
    a: Value,
    axis: int | Sequence[int] | None = None,
    out: Any = None,
    keepdims: bool = False,
    initial: Value = None,
    where: Value = None,
) -> Value:
    """``min`` of the elements that are not NaN; NaN if there are none.

    Example:
      >>> rnp.nanmin(rnp.array([1.0, rnp.nan, 3.0]))
      Array(1., dtype=float32)
    """
    return nan_extreme("nanmin", min, False, a, axis, out, keepdims, initial, where)


def nan_position(name: Any, function: Any, largest: Any, a: Any, axis: Any, out: Any, keepdims: Any) -> Any:
    """The position of an extreme among the numbers; -1 where there are none."""
    found = function(without_nan(name, a, least_of(a, largest)), axis, out, keepdims)
    if kind_of(a) not in "fc":
        return found
    return choose_by(every(isnan(a), axis, keepdims=bool(keepdims)), -1, found)


@fused(static=STATIC)
def nanargmax(a: Value, axis: int | None = None, out: Any = None, keepdims: bool | None = None) -> Value:
    """``argmax`` among the elements that are not NaN; -1 if there are none.

    Example:
      >>> rnp.nanargmax(rnp.array([1.0, rnp.nan, 3.0]))
      Array(2, dtype=int32)
    """
    return nan_position("nanargmax", argmax, True, a, axis, out, keepdims)


@fused(static=STATIC)
def nanargmin(a: Value, axis: int | None = None, out: Any = None, keepdims: bool | None = None) -> Value:
    """``argmin`` among the elements that are not NaN; -1 if there are none.

    Example:
      >>> rnp.nanargmin(rnp.array([rnp.nan, 5.0, 3.0]))
      Array(2, dtype=int32)
    """
    return nan_position("nanargmin", argmin, False, a, axis, out, keepdims)


def numbers_only(name: Any, a: Any, where: Any) -> Any:
    """The mask of the elements that count."""
    there = lax.bitwise_not(isnan(a))
    return there if where is None else lax.bitwise_and(there, spread_to(where, typeof(a).shape))


@fused(static=STATIC)
def nanmean(
    a: Value,
    axis: int | Sequence[int] | None = None,
    dtype: DTypeLike | None = None,
    out: Any = None,
    keepdims: bool = False,
    where: Value = None,
) -> Value:
    """``mean`` of the elements that are not NaN; NaN if there are none.

    Example:
      >>> rnp.nanmean(rnp.array([1.0, rnp.nan, 3.0]))
      Array(2., dtype=float32)
    """
    check("nanmean", a)
    return mean(
        without_nan("nanmean", a, 0), axis, dtype, out, keepdims, where=numbers_only("nanmean", a, where)
    )


@fused(static=VARIANCE)
def nanvar(
    a: Value,
    axis: int | Sequence[int] | None = None,
    dtype: DTypeLike | None = None,
    out: Any = None,
    ddof: float = 0,
    keepdims: bool = False,
    where: Value = None,
    mean: Value = None,
) -> Value:
    """``var`` of the elements that are not NaN; NaN if there are not more than ``ddof``.

    Example:
      >>> rnp.nanvar(rnp.array([1.0, rnp.nan, 3.0]))
      Array(1., dtype=float32)
    """
    check("nanvar", a)
    mask = numbers_only("nanvar", a, where)
    value = var(without_nan("nanvar", a, 0), axis, dtype, out, ddof, keepdims, where=mask, mean=mean)
    axes = axes_of("nanvar", axis, typeof(a).ndim)
    count = lax.reduce_sum(lax.convert_element_type(mask, "int32"), axes)
    count = keep_dims(count, axes) if keepdims else count
    return choose_by(lax.le(count, math.floor(ddof)), math.nan, value)


@fused(static=VARIANCE)
def nanstd(
    a: Value,
    axis: int | Sequence[int] | None = None,
    dtype: DTypeLike | None = None,
    out: Any = None,
    ddof: float = 0,
    keepdims: bool = False,
    where: Value = None,
    mean: Value = None,
) -> Value:
    """``std`` of the elements that are not NaN; NaN if there are not more than ``ddof``.

    Example:
      >>> rnp.nanstd(rnp.array([1.0, rnp.nan, 3.0]))
      Array(1., dtype=float32)
    """
    return root_of_size(nanvar(a, axis, dtype, out, ddof, keepdims, where, mean))


__all__ = [
    "nanargmax",
    "nanargmin",
    "nancumprod",
    "nancumsum",
    "nanmax",
    "nanmean",
    "nanmin",
    "nanprod",
    "nanstd",
    "nansum",
    "nanvar",
]
