"""The different elements of an array, or its different slices: ``unique``.

How many there are depends on the values: see ``searching``.
"""

from __future__ import annotations

import math
import operator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from rabbet import Array, dtypes, lax
from rabbet.extend.functions import fused
from rabbet.extend.transform import Tracer
from rabbet.numpy.creation.conversion import asarray
from rabbet.numpy.indexing.searching import SIZE, held, looked_at, positions
from rabbet.numpy.support.arguments import axis_of

if TYPE_CHECKING:
    from rabbet.typing import Value


class UniqueAll(NamedTuple):
    values: Array
    indices: Array
    inverse_indices: Array
    counts: Array


class UniqueCounts(NamedTuple):
    values: Array
    counts: Array


class UniqueInverse(NamedTuple):
    values: Array
    inverse_indices: Array


def unique(
    ar: Value,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: int | None = None,
    *,
    equal_nan: bool = True,
    size: int | None = None,
    fill_value: Value | None = None,
    sorted: bool = True,
) -> tuple[Value, ...] | Value:
    """The different elements of ``ar``, sorted; and on request where they are.

    Args:
      ar: an array.
      return_index: also the first position of each.
      return_inverse: also, for each element of ``ar``, the position of its value in the result.
      return_counts: also how often each occurs.
      axis: compare slices along this dimension; None: elements.
      equal_nan: whether all NaN count as one.
      size: how long the result is; needed under ``jit``. What is more is cut off.
      fill_value: what stands in missing places, by default the smallest value.
      sorted: False: in any order; here they are sorted nevertheless.

    Raises:
      ConcretizationTypeError: for a traced array without ``size``.

    Example:
      >>> rnp.unique(rnp.array([3, 1, 3]))
      Array([1, 3], dtype=int32)
      >>> rnp.unique(rnp.array([3, 1, 3]), return_counts=True)
      (Array([1, 3], dtype=int32), Array([1, 2], dtype=int32))
    """
    ar = held("unique", ar)
    if size is None:
        host = comparable(looked_at("unique", ar, SIZE), equal_nan)
        taken = type(ar) is Tracer  # the values are taken from it, so that they have its derivative
        if axis is not None and dtypes.kind(ar.dtype) in "fc" and (host != host).any():
            axis, taken = axis_of("unique", axis, ar.ndim), True
            host, slices, axis = rows_of_ranks(host, axis, equal_nan), axis, 0
        else:
            slices = axis
        which: Any = return_index or taken, return_inverse, return_counts, axis
        found: Any = np.unique(host, *which, equal_nan=equal_nan)
        values, *rest = found if isinstance(found, tuple) else (found,)
        rest = [asarray(r.astype(dtypes.scalar_dtype(int))) for r in rest]
        values = elements_at(ar, rest[0], slices) if taken else asarray(values, ar.dtype)
        outs = [values, *(rest if return_index or not taken else rest[1:])]
        return tuple(outs) if len(outs) > 1 else values
    if axis is not None:
        axis = axis_of("unique", axis, ar.ndim)
        found = unique_slices(ar, axis, operator.index(size), fill_value, equal_nan=equal_nan)
    else:
        found = unique_of_size(ar, operator.index(size), fill_value, equal_nan=equal_nan)
    values, first, inverse, counts = found
    outs = [values]
    outs += [first] if return_index else []
    outs += [inverse] if return_inverse else []
    outs += [counts] if return_counts else []
    return tuple(outs) if len(outs) > 1 else values


def rows_of_ranks(host: Any, axis: int, equal_nan: bool) -> Any:
    """Integers in the place of numbers, for slices that hold NaN, which NumPy would neither find equal nor
    sort as other slices: a row for each. If NaN are not equal, each such row ends with a number of its own.
    """
    ranks = np.unique(host, return_inverse=True)[1].reshape(host.shape)
    rows = np.moveaxis(ranks, axis, 0).reshape(host.shape[axis], -1)
    if equal_nan:
        return rows
    apart = np.moveaxis(host != host, axis, 0).reshape(rows.shape).any(1)
    return np.concatenate([rows, np.where(apart, np.arange(1, len(rows) + 1), 0)[:, None]], 1)


def comparable(host: Any, equal_nan: bool = True) -> Any:
    """What NumPy compares as it should: floats that it does not know as wider ones, those of 16 bits too
    (slices of them it sorts with NaN in front), and complex numbers with NaN in a part as one number, that
    which comes first in order.
    """
    if dtypes.kind(host.dtype) == "f" and dtypes.itemsize_bits(host.dtype) < 32:
        return host.astype(np.float32)
    if host.dtype.kind == "c" and equal_nan:
        return np.where(np.isnan(host), host.dtype.type(complex(np.nan, 0)), host)
    return host


def elements_at(ar: Any, places: Any, axis: Any) -> Any:
    """Elements by their places in row-major order, or slices along an axis."""
    from rabbet.numpy.indexing.taking import take

    return take(ar, places, axis)


@fused(static=("size", "equal_nan"))
def unique_of_size(ar: Value, size: int, fill_value: Any, equal_nan: bool = True) -> tuple[Value, ...]:
    """Values, first positions, inverse and counts, each of a known length."""
    shape, n = ar.shape, ar.size
    dtype = dtypes.scalar_dtype(int)
    flat = lax.reshape(ar, (n,))
    if dtypes.kind(ar.dtype) == "c" and equal_nan:
        flat = lax.select(lax.ne(flat, flat), lax.full_like(flat, complex(math.nan, 0)), flat)
    ordered, where = lax.sort((flat, lax.iota(dtype, n)), 0, num_keys=1)
    new = run_starts(ordered, equal_nan)
    group = lax.sub(lax.cumsum(lax.convert_element_type(new, dtype), 0), 1) if n else lax.full((0,), 0, dtype)
    if not size:
        empty = lax.full((0,), 0, dtype)
        return ordered[:0], empty, lax.reshape(lax.full((n,), 0, dtype).at[where].set(group), shape), empty
    start = positions(new, size, [0])[0]
    counts = lax.full((size,), 0, dtype).at[group].add(1, mode="drop")
    there = lax.gt(counts, 0)
    smallest = ordered[0] if n else lax.full((), 0, ar.dtype)
    filler = smallest if fill_value is None else lax.convert_element_type(fill_value, ar.dtype)
    filled = lax.broadcast_in_dim(filler, (size,), ())
    values = lax.select(there, ordered.at[start].get(mode="clip") if n else filled, filled)
    first = where.at[start].get(mode="clip") if n else start
    inverse = lax.full((n,), 0, dtype).at[where].set(group)
    return (
        values,
        lax.select(there, first, lax.broadcast_in_dim(first[0], (size,), ())),
        lax.reshape(inverse, shape),
        counts,
    )


@fused(static=("axis", "size", "equal_nan"))
def unique_slices(
    ar: Value, axis: int, size: int, fill_value: Value | None, equal_nan: bool = True
) -> tuple[Value, ...]:
    """What ``unique_of_size`` gives, of the slices along an axis."""
    from rabbet.numpy.indexing.taking import take

    n = ar.shape[axis]
    others = [d for d in range(ar.ndim) if d != axis]
    rows = lax.reshape(lax.transpose(ar, (axis, *others)), (n, math.prod(ar.shape[d] for d in others)))
    ranks = ranks_of_slices(rows, equal_nan)
    _, first, inverse, counts = unique_of_size(ranks, size, None)
    if not n:
        shape = tuple([size if d == axis else s for d, s in enumerate(ar.shape)])
        return lax.full(shape, 0 if fill_value is None else fill_value, ar.dtype), first, inverse, counts
    values = take(ar, first, axis)
    if fill_value is not None:
        shown = lax.broadcast_in_dim(lax.gt(counts, 0), values.shape, (axis,))
        filler = lax.full(values.shape, lax.convert_element_type(fill_value, ar.dtype), ar.dtype)
        values = lax.select(shown, values, filler)
    return values, first, inverse, counts


def ranks_of_slices(rows: Any, equal_nan: Any) -> Any:
    """A number for each row of a matrix: the smaller ones for those that come first in order, equal ones for
    rows that are equal. Column by column, each from the ranks so far.
    """
    n = rows.shape[0]
    dtype = dtypes.scalar_dtype(int)
    zeros = lax.full((n,), 0, dtype)
    if not n or not rows.shape[1]:
        return zeros

    def ranked(where: Value, new: Value) -> Value:
        ordered = lax.sub(lax.cumsum(lax.convert_element_type(new, dtype), 0), 1)
        return zeros.at[where].set(ordered)

    def step(ranks: Value, column: Value) -> tuple[Value, None]:
        order, values, where = lax.sort((ranks, column, lax.iota(dtype, n)), 0, num_keys=2)
        return ranked(where, lax.bitwise_or(run_starts(values, True), run_starts(order, False))), None

    ranks = lax.scan(step, zeros, lax.transpose(rows, (1, 0)))[0]
    if equal_nan or dtypes.kind(rows.dtype) not in "fc":
        return ranks
    apart = lax.reduce_or(lax.ne(rows, rows), (1,))
    order, where = lax.sort((ranks, lax.iota(dtype, n)), 0, num_keys=1)
    return ranked(where, lax.bitwise_or(run_starts(order, False), apart[where]))


def run_starts(ordered: Value, equal_nan: bool) -> Any:
    """Which elements of a sorted vector differ from the one before them."""
    if not ordered.size:
        return lax.full((0,), True)
    before, behind = ordered[:-1], ordered[1:]
    new = lax.ne(before, behind)
    if equal_nan and dtypes.kind(ordered.dtype) in "fc":
        both_nan = lax.bitwise_and(lax.ne(before, before), lax.ne(behind, behind))
        new = lax.bitwise_and(new, lax.bitwise_not(both_nan))
    return lax.concatenate([lax.full((1,), True), new], 0)


def unique_all(x: Value, /, *, size: int | None = None, fill_value: Value = None) -> Any:
    """Values, first positions, inverse positions and counts of the different elements.

    Example:
      >>> rnp.unique_all(rnp.array([3, 1, 3])).counts
      Array([1, 2], dtype=int32)
    """
    return UniqueAll(*unique(x, True, True, True, size=size, fill_value=fill_value, equal_nan=False))


def unique_counts(x: Value, /, *, size: int | None = None, fill_value: Value = None) -> Any:
    """Values and counts of the different elements.

    Example:
      >>> rnp.unique_counts(rnp.array([3, 1, 3])).counts
      Array([1, 2], dtype=int32)
    """
    return UniqueCounts(*unique(x, return_counts=True, size=size, fill_value=fill_value, equal_nan=False))


def unique_inverse(x: Value, /, *, size: int | None = None, fill_value: Value = None) -> Any:
    """Values of the different elements, and the position of each element's value among them.

    Example:
      >>> rnp.unique_inverse(rnp.array([3, 1, 3])).inverse_indices
      Array([1, 0, 1], dtype=int32)
    """
    return UniqueInverse(*unique(x, return_inverse=True, size=size, fill_value=fill_value, equal_nan=False))


def unique_values(x: Value, /, *, size: int | None = None, fill_value: Value = None) -> Value:
    """The different elements.

    Example:
      >>> rnp.unique_values(rnp.array([3, 1, 3]))
      Array([1, 3], dtype=int32)
    """
    return unique(x, size=size, fill_value=fill_value, equal_nan=False)


__all__ = ["unique", "unique_all", "unique_counts", "unique_inverse", "unique_values"]
