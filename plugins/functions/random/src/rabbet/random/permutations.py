"""Putting elements in random order, and choosing some of them."""

from __future__ import annotations

import math
import operator
from typing import TYPE_CHECKING

import numpy as np

from rabbet import dtypes, lax
from rabbet.extend.functions import fused, obeys_out_sharding
from rabbet.extend.rules import axis_in_range
from rabbet.extend.transform import typeof
from rabbet.random.arguments import index_dtype, scalar, shape_of
from rabbet.random.continuous import gumbels, high_mode
from rabbet.random.discrete import evenly
from rabbet.random.generator import random_bits, unit
from rabbet.random.keys import subkeys, words_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from rabbet.typing import Value


def axis_of(axis, ndim, who):
    return axis_in_range(who, operator.index(axis), ndim)


# -------------------------------------------------------------------------------------------- permutation
@obeys_out_sharding
def permutation(
    key: Value, x: Value, axis: int = 0, independent: bool = False, *, out_sharding: Any = None
) -> Value:
    """An array in random order, or the numbers from 0 on.

    Args:
      key: a single key.
      x: an array; or an int n, for ``arange(n)``.
      axis: whose slices are put in another order.
      independent: put every line along ``axis`` in an order of its own.

    Raises:
      TypeError: if ``x`` is a scalar that is not an integer.

    Example:
      >>> random.permutation(random.key(0), 5).sort()
      Array([0, 1, 2, 3, 4], dtype=int32)
    """
    size = as_size(x)
    if size is not None:
        return _permuted_range(key, size)
    return _permutation(key, x, axis, bool(independent))


def as_size(x):
    """The int behind an integer scalar; None for an array with dimensions."""
    if getattr(x, "ndim", 0) or hasattr(x, "__jax_array__"):
        return None
    try:
        return x.__index__()
    except AttributeError:
        raise TypeError(
            "permutation and choice: expected an array with dimensions or an integer, got "
            f"{type(x).__name__} {x!r:.60}"
        ) from None


@fused(static=("size",))
def _permuted_range(key, size):
    return shuffled(words_of(key, "permutation"), lax.iota(index_dtype(), max(size, 0)), 0)


@fused(static=("axis", "independent"))
def _permutation(key, x, axis, independent):
    aval = typeof(x)
    axis = axis_of(axis, aval.ndim, "permutation")
    words = words_of(key, "permutation")
    extended = isinstance(aval.dtype, dtypes.ExtendedDType)
    if (independent or aval.ndim == 1) and not extended:
        return shuffled(words, x, axis)
    if independent and aval.ndim > 1:
        raise TypeError(f"permutation: independent orders of an array {aval.str_short()} are not supported")
    return take(x, shuffled(words, lax.iota(np.int32, aval.shape[axis]), 0), axis)


def shuffled(words, x, axis):
    """``x`` sorted along ``axis`` by random words, as often as it takes for two equal words not to matter."""
    shape = typeof(x).shape
    rounds = math.ceil(3 * math.log(max(1, math.prod(shape))) / math.log(2**32 - 1))
    for _ in range(rounds):
        words, mine = subkeys(words, 2)
        _, x = lax.sort_key_val(random_bits(mine, shape, 32), x, axis)
    return x


def take(x, places, axis):
    """The slices of ``x`` at ``places`` (an array of valid positions) along ``axis``, in the place of that
    dimension.
    """
    aval, rank = typeof(x), typeof(places).ndim
    numbers = lax.GatherDimensionNumbers(
        offset_dims=tuple([d for d in range(aval.ndim - 1 + rank) if not axis <= d < axis + rank]),
        collapsed_slice_dims=(axis,), start_index_map=(axis,),
    )  # fmt: skip
    sizes = tuple([1 if d == axis else n for d, n in enumerate(aval.shape)])
    return lax.gather(x, lax.expand_dims(places, (rank,)), numbers, sizes, mode="clip")


# ------------------------------------------------------------------------------------------------- choice
def choice(
    key: Value,
    a: Value,
    shape: int | Sequence[int] = (),
    replace: bool = True,
    p: Value = None,
    axis: int = 0,
    mode: str | None = None,
) -> Value:
    """Elements of an array, or numbers below one, drawn at random.

    Args:
      key: a single key.
      a: an array, of which slices along ``axis`` are drawn; or an int n, for ``arange(n)``.
      shape: how many to draw, a tuple.
      replace: whether one may be drawn twice.
      p: the probability of each, a vector; by default all are equally likely.
      axis: along which to draw.
      mode: as for ``gumbel``, where it is drawn by ``p`` without replacement.

    Returns:
      an array of the shape of ``a`` with ``shape`` in the place of ``axis``.

    Raises:
      ValueError: if there are too few elements to draw from, or ``p`` is not one number for each.
      TypeError: for a ``shape`` that is not a sequence: ``choice(key, 5, 2)`` is NumPy's order of arguments.

    Example:
      >>> random.choice(random.key(0), rnp.array([10, 20, 30]), (3,), replace=False).sort()
      Array([10, 20, 30], dtype=int32)
    """
    size = as_size(a)
    if not hasattr(shape, "__iter__"):
        raise TypeError(f"choice: shape must be a sequence of ints, as ({shape!r},), got {shape!r}")
    shape = shape_of(shape, "choice")
    if size is None:
        return _choice(key, a, p, shape, bool(replace), axis, mode)
    return _chosen_places(key, size, p, shape, bool(replace), mode)


@fused(static=("size", "shape", "replace", "mode"))
def _chosen_places(key, size, p, shape, replace, mode):
    return places(words_of(key, "choice"), size, p, shape, replace, mode)


@fused(static=("shape", "replace", "axis", "mode"))
def _choice(key, a, p, shape, replace, axis, mode):
    aval = typeof(a)
    axis = axis_of(axis, aval.ndim, "choice")
    found = places(words_of(key, "choice"), aval.shape[axis], p, shape, replace, mode)
    return take(a, found, axis)


def places(words, size, p, shape, replace, mode):
    """Random positions below ``size``."""
    count = math.prod(shape)
    if size <= 0 and count:
        raise ValueError(f"choice: there are no elements to draw {count} from: a has size {size}")
    if not replace and count > size:
        raise ValueError(
            f"choice: {count} draws without replacement need as many elements, a has {size}; or replace=True"
        )
    if p is not None:
        return places_by_weight(words, size, p, shape, replace, mode)
    if replace:
        low, high = scalar(0, index_dtype()), scalar(size, index_dtype())
        return lax.convert_element_type(evenly(words, shape, low, high, False), index_dtype())
    order = shuffled(words, lax.iota(index_dtype(), size), 0)
    return lax.reshape(lax.slice_in_dim(order, 0, count), shape)


def places_by_weight(words, size, p, shape, replace, mode):
    """Random positions, each drawn with its own probability."""
    aval = typeof(p)
    if aval.shape != (size,):
        raise ValueError(f"choice: p is one probability for each of {size} elements, got {aval.str_short()}")
    dtype = dtypes.to_inexact(aval.dtype)
    p = lax.convert_element_type(p, dtype)
    if replace:
        upto = lax.cumsum(p, 0)
        whole = lax.squeeze(lax.slice_in_dim(upto, size - 1, size), (0,))
        return first_not_below(upto, lax.mul(whole, lax.sub(1.0, unit(words, shape, dtype))))
    scores = lax.add(gumbels(words, (size,), dtype, high_mode(mode, "choice")), lax.log(p))
    _, best = lax.top_k(scores, math.prod(shape))
    return lax.reshape(lax.convert_element_type(best, index_dtype()), shape)


def first_not_below(rising, values):
    """For each value the first position at which ``rising``, a vector in order, is not below it; by
    bisection.
    """
    size = typeof(rising).shape[0]
    position = lax.full_like(values, 0, np.int32)
    step = 1 << max(size.bit_length() - 1, 0)
    while step:
        further = lax.add(position, step)
        before = take(rising, lax.min(lax.sub(further, 1), size - 1), 0)
        below = lax.bitwise_and(lax.le(further, size), lax.lt(before, values))
        position = lax.select(below, further, position)
        step //= 2
    return lax.convert_element_type(position, index_dtype())


__all__ = ["choice", "permutation"]
