"""Moving elements about: roll, flip, tile, repeat, append, insert, delete."""

from __future__ import annotations

import math
import operator
from typing import TYPE_CHECKING, Any

import numpy as np

from rabbet import dtypes, lax
from rabbet.extend.functions import fused, obeys_out_sharding
from rabbet.extend.transform import Tracer, is_tracer, typeof
from rabbet.numpy.creation.conversion import array, asarray
from rabbet.numpy.indexing.searching import looked_at
from rabbet.numpy.reductions.reducing import spread_to
from rabbet.numpy.shapes.joining import concatenate
from rabbet.numpy.shapes.reshaping import array_of, ravel
from rabbet.numpy.support.arguments import (
    as_array,
    axes_of,
    axis_of,
    check,
    index_dtype,
    kind_of,
    shape_of,
    weak_by,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rabbet.typing import Value


@fused(static=("axis",))
def flip(m: Value, axis: int | Sequence[int] | None = None) -> Value:
    """``m`` with the order of elements reversed along an axis, several, or all of them.

    Example:
      >>> rnp.flip(rnp.array([[1, 2], [3, 4]]), axis=1)
      Array([[2, 1],
             [4, 3]], dtype=int32)
    """
    m = array_of("flip", m)
    return lax.rev(m, axes_of("flip", axis, m.ndim))


def fliplr(m: Value) -> Value:
    """``m`` reversed along its second dimension.

    Example:
      >>> rnp.fliplr(rnp.array([[1, 2], [3, 4]]))
      Array([[2, 1],
             [4, 3]], dtype=int32)
    """
    return flip(m, 1)


def flipud(m: Value) -> Value:
    """``m`` reversed along its first dimension.

    Example:
      >>> rnp.flipud(rnp.array([[1, 2], [3, 4]]))
      Array([[3, 4],
             [1, 2]], dtype=int32)
    """
    return flip(m, 0)


@fused(static=("k", "axes"))
def rot90(m: Value, k: int = 1, axes: Any = (0, 1)) -> Value:
    """``m`` turned ``k`` times by 90 degrees in the plane of two axes, from the first towards the second.

    Example:
      >>> rnp.rot90(rnp.array([[1, 2], [3, 4]]))
      Array([[2, 4],
             [1, 3]], dtype=int32)
    """
    m = array_of("rot90", m)
    first, second = axes_of("rot90", tuple(axes), m.ndim)
    order = list(range(m.ndim))
    order[first], order[second] = order[second], order[first]
    k %= 4
    if k == 2:
        return lax.rev(m, (first, second))
    if k == 1:
        return lax.transpose(lax.rev(m, (second,)), order)
    return lax.rev(lax.transpose(m, order), (second,)) if k else m


def static_shift(shift: Any) -> tuple[int, ...] | None:
    """A shift as ints, or None if it is an array."""
    if hasattr(shift, "aval"):
        return None
    if isinstance(shift, (tuple, list)) and any(type(s) is Tracer for s in shift):
        return None
    return (
        tuple([operator.index(s) for s in shift]) if hasattr(shift, "__iter__") else (operator.index(shift),)
    )


def roll(a: Value, shift: Any, axis: int | Sequence[int] | None = None) -> Value:
    """``a`` with its elements moved along, those that leave at the end coming in at the beginning.

    Args:
      a: an array.
      shift: by how many places: an int, an array, or a tuple of these, one per axis.
      axis: an int or a tuple; None: along all elements in row-major order.

    Raises:
      ValueError: if shifts and axes differ in number.

    Example:
      >>> rnp.roll(rnp.arange(5), 2)
      Array([3, 4, 0, 1, 2], dtype=int32)
    """
    check("roll", a)
    static = static_shift(shift)
    if static is not None:
        return rolled(a, static, axis)
    shift = array(shift) if isinstance(shift, (tuple, list)) else shift
    return rolled_by_array(a, shift, axis)


@fused(static=("shift", "axis"))
def rolled(a: Value, shift: tuple[int, ...], axis: int | Sequence[int] | None) -> Value:
    """``roll`` by known distances: each is two slices, swapped."""
    a = as_array(a)
    if axis is None:
        return lax.reshape(rolled(lax.reshape(a, (a.size,)), shift, 0), a.shape)
    for step, at in paired("roll", shift, axis, a.ndim):
        n = a.shape[at]
        step %= n or 1
        if step:
            a = lax.concatenate(
                [lax.slice_in_dim(a, n - step, n, axis=at), lax.slice_in_dim(a, 0, n - step, axis=at)], at
            )
    return a


def paired(
    name: str, shift: tuple[Value, ...], axis: int | Sequence[int], ndim: int
) -> list[tuple[Value, ...]]:
    """Each axis with its shift; one shift serves all axes, one axis takes all shifts."""
    given: Any = axis if isinstance(axis, (tuple, list)) else (axis,)
    axes = tuple([axis_of(name, d, ndim) for d in given])
    if len(shift) == 1:
        shift *= len(axes)
    elif len(axes) == 1:
        axes *= len(shift)
    if len(shift) != len(axes):
        raise ValueError(f"{name}: {len(shift)} shifts for {len(axes)} axes")
    return list(zip(shift, axes))


@fused(static=("axis",))
def rolled_by_array(a: Value, shift: Value, axis: int | Sequence[int]) -> Value:
    """``roll`` by computed distances: the array twice, and a window into it."""
    a, shift = as_array(a), as_array(shift)
    if axis is None:
        return lax.reshape(rolled_by_array(lax.reshape(a, (a.size,)), shift, 0), a.shape)
    shifts = [shift[i] for i in range(shift.shape[0])] if shift.ndim else [shift]
    for step, at in paired("roll", tuple(shifts), axis, a.ndim):
        n = a.shape[at]
        if n:
            twice = lax.concatenate([a, a], at)
            dtype = index_dtype(2 * n)
            step = step if dtype == "int32" else lax.convert_element_type(step, dtype)
            start = n - lax.convert_element_type(step % n, dtype)
            a = lax.dynamic_slice_in_dim(twice, start, n, axis=at)
    return a


@fused(static=("reps",))
def tile(A: Value, reps: Any) -> Value:
    """``A`` repeated as a whole ``reps[i]`` times along dimension i; missing dimensions are added in
    front.

    Example:
      >>> rnp.tile(rnp.array([1, 2]), (2, 2))
      Array([[1, 2, 1, 2],
             [1, 2, 1, 2]], dtype=int32)
    """
    A = array_of("tile", A)
    reps = shape_of("tile", reps)
    rank = max(len(reps), A.ndim)
    A = lax.expand_dims(A, tuple(range(rank - A.ndim)))
    return lax.tile(A, (1,) * (rank - len(reps)) + reps)


@obeys_out_sharding
def repeat(
    a: Value,
    repeats: Value,
    axis: int | None = None,
    *,
    total_repeat_length: int | None = None,
    out_sharding: Any = None,
) -> Value:
    """``a`` with each element repeated, next to itself.

    Args:
      a: an array.
      repeats: an int, or how often for each element along ``axis``.
      axis: None: of all elements in row-major order.
      total_repeat_length: the size of the result along ``axis``, needed where ``repeats`` is traced: what
        is more is cut off, what is missing repeats the last element.

    Example:
      >>> rnp.repeat(rnp.array([1, 2]), rnp.array([1, 3]))
      Array([1, 2, 2, 2], dtype=int32)
    """
    a = array_of("repeat", a)
    if axis is None:
        a, axis = ravel(a), 0
    axis = axis_of("repeat", axis, a.ndim)
    one = hasattr(repeats, "__index__") and not typeof(repeats).shape and type(repeats) is not Tracer
    if one and total_repeat_length is None:
        return repeated(a, operator.index(repeats), axis)
    if total_repeat_length is not None:
        return repeated_by_array(a, asarray(repeats), axis, total_repeat_length)
    advice = "give that size, total_repeat_length, or make repeats static (static_argnames)"
    counts = np.broadcast_to(looked_at("repeat", repeats, advice), (a.shape[axis],))
    at = np.repeat(np.arange(a.shape[axis], dtype=index_dtype(a.shape[axis])), counts)
    return a[(slice(None),) * axis + (at,)]


@fused(static=("repeats", "axis"))
def repeated(a: Value, repeats: int, axis: int) -> Value:
    """Every element equally often: a broadcast."""
    shape = (*a.shape[: axis + 1], repeats, *a.shape[axis + 1 :])
    dims = tuple([d for d in range(len(shape)) if d != axis + 1])
    return lax.reshape(
        lax.broadcast_in_dim(a, shape, dims), (*a.shape[:axis], a.shape[axis] * repeats, *a.shape[axis + 1 :])
    )


@fused(static=("axis", "length"))
def repeated_by_array(a: Any, repeats: Any, axis: Any, length: Any) -> Any:
    """Counts that are computed: each place of the result counts the elements that end before it."""
    n = a.shape[axis]
    dtype = index_dtype(max(n, length))
    ends = lax.cumsum(lax.convert_element_type(spread_to(repeats, (n,)), dtype), 0)
    passed = lax.full((length,), 0, dtype).at[ends].add(1, mode="drop")
    at = lax.min(lax.cumsum(passed), max(n - 1, 0))
    return a.at[(slice(None),) * axis + (at,)].get(mode="clip")


# -------------------------------------------------------------------------------- more and less elements
def append(arr: Value, values: Value, axis: int | None = None) -> Value:
    """``values`` joined to the end of ``arr`` along ``axis``; for None both are flattened first.

    Example:
      >>> rnp.append(rnp.arange(3), rnp.array([7, 8]))
      Array([0, 1, 2, 7, 8], dtype=int32)
    """
    check("append", arr, values)
    return concatenate([arr, values], axis)


def delete(arr: Value, obj: Any, axis: int | None = None, *, assume_unique_indices: bool = False) -> Value:
    """``arr`` without the slices at the given positions along ``axis``; for None, without elements in
    row-major order.

    Args:
      obj: an int, a slice, integers, or booleans, all known: the result's shape depends on them. With
        ``assume_unique_indices`` integers need not be known; one outside of ``arr`` means its last place.

    Example:
      >>> rnp.delete(rnp.arange(5), rnp.array([0, 2]))
      Array([1, 3, 4], dtype=int32)
    """
    arr = array_of("delete", arr)
    if axis is None:
        arr, axis = ravel(arr), 0
    axis = axis_of("delete", axis, arr.ndim)
    if assume_unique_indices and isinstance(obj, Tracer) and kind_of(obj) in "iu":
        kept = _without(arr.shape[axis], ravel(obj))
    else:
        obj = obj if isinstance(obj, slice) else np.asarray(obj)
        kept = np.delete(np.arange(arr.shape[axis], dtype=index_dtype(arr.shape[axis])), obj)
    return arr[(slice(None),) * axis + (kept,)]


def _without(n: int, places: Any) -> Any:
    """Which of ``n`` places are left without some that differ from each other."""
    dtype = index_dtype(n)
    places = lax.convert_element_type(places, dtype)
    places = lax.sort(lax.clamp(0, lax.select(places < 0, places + n, places), n - 1))
    before = places - lax.iota(dtype, places.size)  # how many that stay lie before each that goes
    left = lax.iota(dtype, n - places.size)
    return left + lax.reduce_sum(lax.convert_element_type(before[None] <= left[:, None], dtype), (1,))


@weak_by(1)
def insert(arr: Value, obj: Any, values: Value, axis: int | None = None) -> Value:
    """``arr`` with values put in before the given positions along ``axis``; for None, among elements in
    row-major order.

    Args:
      obj: an int or a vector of ints, which may be computed, or a slice.
      values: what to put in; broadcasts.

    Example:
      >>> rnp.insert(rnp.arange(3), 1, 9)
      Array([0, 9, 1, 2], dtype=int32)
    """
    arr = array_of("insert", arr)
    values = asarray(values)
    if axis is None:
        arr, axis = ravel(arr), 0
    axis = axis_of("insert", axis, arr.ndim)
    n = arr.shape[axis]
    if is_tracer(obj) and not obj.ndim and dtypes.kind(obj.dtype) in "iu":
        return insert_at(arr, obj, values, axis)
    if is_tracer(obj) and obj.ndim == 1 and dtypes.kind(obj.dtype) in "iu":
        return insert_each(arr, obj, values, axis)
    single = not isinstance(obj, slice) and np.ndim(obj) == 0
    at = np.arange(n)[obj] if isinstance(obj, slice) else np.atleast_1d(np.asarray(obj))
    if single:
        count = values.shape[axis] if values.ndim == arr.ndim and not arr.ndim == values.ndim == 0 else 1
        if arr.ndim == 1 and values.ndim == 1:
            count = values.shape[0]
        at = np.repeat(at, count)
        if values.ndim and values.ndim < arr.ndim:
            values = lax.expand_dims(values, (axis,)) if values.ndim == arr.ndim - 1 else values
    dtype = index_dtype(n + len(at))
    source = np.insert(np.arange(n, dtype=dtype), at, np.arange(n, n + len(at), dtype=dtype))
    values = spread_to(
        lax.convert_element_type(values, arr.dtype), (*arr.shape[:axis], len(at), *arr.shape[axis + 1 :])
    )
    return lax.concatenate([arr, values], axis)[(slice(None),) * axis + (source,)]


def insert_at(arr: Any, place: Any, values: Any, axis: int) -> Any:
    """``insert`` before one position that is computed: what is behind it moves up."""
    n = arr.shape[axis]
    count = values.shape[axis] if values.ndim == arr.ndim else 1
    if values.ndim and values.ndim == arr.ndim - 1:
        values = lax.expand_dims(values, (axis,))
    shape = (*arr.shape[:axis], count, *arr.shape[axis + 1 :])
    values = spread_to(lax.convert_element_type(values, arr.dtype), shape)
    dtype = index_dtype(n + count)
    place = lax.convert_element_type(place, dtype)
    place = lax.clamp(0, lax.select(lax.lt(place, 0), lax.add(place, n), place), n)
    at = lax.iota(dtype, n + count)
    behind = lax.ge(at, lax.add(place, count))
    source = lax.select(behind, lax.sub(at, count), lax.min(at, max(n - 1, 0)))
    inside = lax.bitwise_and(lax.ge(at, place), lax.bitwise_not(behind))
    source = lax.select(inside, lax.add(lax.sub(at, place), n), source)
    return lax.concatenate([arr, values], axis)[(slice(None),) * axis + (source,)]


def insert_each(arr: Any, places: Any, values: Any, axis: int) -> Any:
    """``insert`` before positions that are computed, a value for each."""
    n, count = arr.shape[axis], places.shape[0]
    values = spread_to(
        lax.convert_element_type(values, arr.dtype), (*arr.shape[:axis], count, *arr.shape[axis + 1 :])
    )
    dtype = index_dtype(n + count)
    places = lax.convert_element_type(places, dtype)
    places = lax.clamp(0, lax.select(lax.lt(places, 0), lax.add(places, n), places), n)
    places, which = lax.sort((places, lax.iota(dtype, count)), num_keys=1)
    # Element i moves up by as many as are put in before it or before an earlier one.
    marks = lax.full((n + 1,), 0, dtype).at[places].add(1)
    kept = lax.add(lax.iota(dtype, n), lax.cumsum(marks)[:n])
    source = lax.full((n + count,), 0, dtype).at[kept].set(lax.iota(dtype, n))
    source = source.at[lax.add(places, lax.iota(dtype, count))].set(lax.add(which, n))
    return lax.concatenate([arr, values], axis)[(slice(None),) * axis + (source,)]


def resize(a: Value, new_shape: int | Sequence[int]) -> Value:
    """The elements of ``a`` in row-major order, repeated as often as needed or cut off, in another shape.

    Example:
      >>> rnp.resize(rnp.arange(3), (2, 2))
      Array([[0, 1],
             [2, 0]], dtype=int32)
    """
    a = ravel(a)
    shape = shape_of("resize", new_shape)
    total = math.prod(shape)
    if not a.size:
        return lax.full_like(a, 0, shape=shape)
    return lax.reshape(lax.slice_in_dim(tile(a, -(-total // a.size)), 0, total), shape)


def trim_zeros(filt: Value, trim: str = "fb", axis: int | Sequence[int] | None = None) -> Value:
    """``filt`` without its leading (``"f"``) and trailing (``"b"``) zeros; its values must be known.

    Args:
      filt: an array.
      trim: ``"f"``, ``"b"`` or ``"fb"``.
      axis: the dimensions to trim, an int or a tuple of ints, each of slices that hold zeros only; None: all.

    Raises:
      ValueError: for another ``trim``. ConcretizationTypeError: in a traced function.

    Example:
      >>> rnp.trim_zeros(rnp.array([0, 1, 2, 0]))
      Array([1, 2], dtype=int32)
    """
    sides = trim.lower()
    if set(sides) - set("fb"):
        raise ValueError(f"trim_zeros: trim must be 'f', 'b' or 'fb', got {trim!r}")
    filt = asarray(filt)
    held = np.nonzero(looked_at("trim_zeros", filt, "compute it outside of the traced function"))
    cuts = [slice(None)] * filt.ndim
    for d in axes_of("trim_zeros", axis, filt.ndim):
        low, high = (held[d].min(), held[d].max() + 1) if len(held[d]) else (0, 0)
        cuts[d] = slice(low if "f" in sides else 0, high if "b" in sides or not high else None)
    return filt[tuple(cuts)]


__all__ = [
    "append",
    "delete",
    "flip",
    "fliplr",
    "flipud",
    "insert",
    "repeat",
    "resize",
    "roll",
    "rot90",
    "tile",
    "trim_zeros",
]
