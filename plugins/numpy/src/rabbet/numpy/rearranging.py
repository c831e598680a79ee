"""Moving elements about: roll, flip, tile, repeat, pad, append, insert, delete."""

import math
import operator

import numpy as np

from rabbet import dtypes, lax
from rabbet.extend import Tracer, fused, typeof
from rabbet.numpy.arguments import as_array, axes_of, axis_of, check, shape_of, weak_as
from rabbet.numpy.conversion import asarray
from rabbet.numpy.joining import concatenate
from rabbet.numpy.reductions import spread_to
from rabbet.numpy.shaping import array_of, ravel


@fused(static=("axis",))
def flip(m, axis=None):
    """``m`` with the order of elements reversed along an axis, several, or all of them."""
    m = array_of("flip", m)
    return lax.rev(m, axes_of("flip", axis, m.ndim))


def fliplr(m):
    """``m`` reversed along its second dimension."""
    return flip(m, 1)


def flipud(m):
    """``m`` reversed along its first dimension."""
    return flip(m, 0)


@fused(static=("k", "axes"))
def rot90(m, k=1, axes=(0, 1)):
    """``m`` turned ``k`` times by 90 degrees in the plane of two axes, from the first towards the second."""
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


def static_shift(shift):
    """A shift as ints, or None if it is an array."""
    if hasattr(shift, "aval"):
        return None
    return tuple([operator.index(s) for s in shift]) if hasattr(shift, "__iter__") else (operator.index(shift),)


def roll(a, shift, axis=None):
    """``a`` with its elements moved along, those that leave at the end coming in at the beginning.

    Args:
      a: an array.
      shift: by how many places: an int, an array, or a tuple of ints, one per axis.
      axis: an int or a tuple; None: along all elements in row-major order.

    Raises:
      ValueError: if shifts and axes differ in number.
    """
    check("roll", a)
    static = static_shift(shift)
    if static is not None:
        return rolled(a, static, axis)
    return rolled_by_array(a, shift, axis)


@fused(static=("shift", "axis"))
def rolled(a, shift, axis):
    """``roll`` by known distances: each is two slices, swapped."""
    a = as_array(a)
    if axis is None:
        return lax.reshape(rolled(lax.reshape(a, (a.size,)), shift, 0), a.shape)
    for step, at in paired("roll", shift, axis, a.ndim):
        n = a.shape[at]
        step %= n or 1
        if step:
            a = lax.concatenate([lax.slice_in_dim(a, n - step, n, axis=at), lax.slice_in_dim(a, 0, n - step, axis=at)], at)
    return a


def paired(name, shift, axis, ndim):
    """Each axis with its shift; one shift serves all axes, one axis takes all shifts."""
    axes = tuple([axis_of(name, d, ndim) for d in axis]) if isinstance(axis, (tuple, list)) else (axis_of(name, axis, ndim),)
    if len(shift) == 1:
        shift *= len(axes)
    elif len(axes) == 1:
        axes *= len(shift)
    if len(shift) != len(axes):
        raise ValueError(f"{name}: {len(shift)} shifts for {len(axes)} axes")
    return list(zip(shift, axes))


@fused(static=("axis",))
def rolled_by_array(a, shift, axis):
    """``roll`` by computed distances: the array twice, and a window into it."""
    a, shift = as_array(a), as_array(shift)
    if axis is None:
        return lax.reshape(rolled_by_array(lax.reshape(a, (a.size,)), shift, 0), a.shape)
    shifts = [shift[i] for i in range(shift.shape[0])] if shift.ndim else [shift]
    for step, at in paired("roll", tuple(shifts), axis, a.ndim):
        n = a.shape[at]
        if n:
            twice = lax.concatenate([a, a], at)
            start = n - lax.convert_element_type(step % n, "int32")
            a = lax.dynamic_slice_in_dim(twice, start, n, axis=at)
    return a


@fused(static=("reps",))
def tile(A, reps):
    """``A`` repeated as a whole ``reps[i]`` times along dimension i; missing dimensions are added in front."""
    A = array_of("tile", A)
    reps = shape_of("tile", reps)
    rank = max(len(reps), A.ndim)
    A = lax.expand_dims(A, tuple(range(rank - A.ndim)))
    return lax.tile(A, (1,) * (rank - len(reps)) + reps)


def repeat(a, repeats, axis=None, *, total_repeat_length=None):
    """``a`` with each element repeated, next to itself.

    Args:
      a: an array.
      repeats: an int, or how often for each element along ``axis``.
      axis: None: of all elements in row-major order.
      total_repeat_length: the size of the result along ``axis``, needed where ``repeats`` is traced: what is more is cut off, what
        is missing repeats the last element.
    """
    a = array_of("repeat", a)
    if axis is None:
        a, axis = ravel(a), 0
    axis = axis_of("repeat", axis, a.ndim)
    if hasattr(repeats, "__index__") and not typeof(repeats).shape and type(repeats) is not Tracer:
        if total_repeat_length is None:
            return repeated(a, operator.index(repeats), axis)
    if total_repeat_length is not None:
        return repeated_by_array(a, asarray(repeats), axis, total_repeat_length)
    counts = np.broadcast_to(np.asarray(repeats), (a.shape[axis],))
    at = np.repeat(np.arange(a.shape[axis], dtype="int32"), counts)
    return a[(slice(None),) * axis + (at,)]


@fused(static=("repeats", "axis"))
def repeated(a, repeats, axis):
    """Every element equally often: a broadcast."""
    shape = (*a.shape[: axis + 1], repeats, *a.shape[axis + 1 :])
    dims = tuple([d for d in range(len(shape)) if d != axis + 1])
    return lax.reshape(lax.broadcast_in_dim(a, shape, dims), (*a.shape[:axis], a.shape[axis] * repeats, *a.shape[axis + 1 :]))


@fused(static=("axis", "length"))
def repeated_by_array(a, repeats, axis, length):
    """Counts that are computed: each place of the result counts the elements that end before it."""
    n = a.shape[axis]
    ends = lax.cumsum(lax.convert_element_type(spread_to(repeats, (n,)), "int32"), 0)
    place = lax.broadcasted_iota("int32", (length, n), 0)
    passed = lax.convert_element_type(lax.ge(place, lax.broadcast_in_dim(ends, (length, n), (1,))), "int32")
    at = lax.min(lax.reduce_sum(passed, (1,)), max(n - 1, 0))
    return a.at[(slice(None),) * axis + (at,)].get(mode="clip")


# --------------------------------------------------------------------------------------------------- padding
def widths_of(array, pad_width):
    """``(low, high)`` for each dimension, from an int, a pair, or pairs."""
    ndim = typeof(array).ndim
    if isinstance(pad_width, dict):
        full = [(0, 0)] * ndim
        for axis, width in pad_width.items():
            full[axis_of("pad", axis, ndim)] = width if isinstance(width, (tuple, list)) else (width, width)
        pad_width = full
    try:
        pairs = np.broadcast_to(np.asarray(pad_width, dtype=object), (ndim, 2))
        widths = tuple([(operator.index(lo), operator.index(hi)) for lo, hi in pairs])
    except (TypeError, ValueError):
        raise ValueError(
            f"pad: pad_width must be an int, a pair, or {ndim} pairs for {typeof(array).str_short()}, got {pad_width!r}"
        ) from None
    if any(w < 0 for pair in widths for w in pair):
        raise ValueError(f"pad: widths must not be negative, got {pad_width!r}; take a slice to remove elements")
    return widths


PAD_MODES = ("constant", "edge", "reflect", "symmetric", "wrap", "empty", "mean", "maximum", "minimum", "linear_ramp")


def pad(array, pad_width, mode="constant", *, constant_values=0, reflect_type="even", end_values=0):
    """``array`` with elements put around it.

    Args:
      array: an array.
      pad_width: how many: an int, a pair (before, after), a pair per dimension, or a dict from axes to these.
      mode: ``"constant"``, ``"edge"`` (repeat the outermost), ``"reflect"`` and ``"symmetric"`` (mirror without and with the
        outermost), ``"wrap"`` (from the other end), ``"empty"``, ``"mean"``, ``"maximum"``, ``"minimum"`` (of the line), or
        ``"linear_ramp"`` (down to ``end_values``).
      constant_values, end_values: a number, a pair, or a pair per dimension.
      reflect_type: ``"even"``.

    Raises:
      ValueError: for negative widths or an empty dimension that has nothing to repeat.
      NotImplementedError: for another mode.
    """
    array = array_of("pad", array)
    widths = widths_of(array, pad_width)
    if mode not in PAD_MODES or reflect_type != "even":
        raise NotImplementedError(f"pad: mode {mode!r} with reflect_type {reflect_type!r} is not there; modes: {', '.join(PAD_MODES)}")
    if mode in ("constant", "empty", "linear_ramp"):
        values = {"constant": constant_values, "empty": 0, "linear_ramp": end_values}[mode]
        return padded_with_values(array, widths, values_of(array, values), mode)
    return padded(array, widths, mode)


def values_of(array, values):
    """Padding values, ``(low, high)`` per dimension, as an array of the array's dtype."""
    values = lax.convert_element_type(asarray(values) if isinstance(values, (tuple, list)) else values, typeof(array).dtype)
    return spread_to(values, (typeof(array).ndim, 2))


@fused(static=("widths", "mode"))
def padded_with_values(array, widths, values, mode):
    """Padding by values that are given, one dimension after the other."""
    given = array
    for axis, (low, high) in enumerate(widths):
        for width, side in ((low, 0), (high, 1)):
            if width:
                value = values[axis, side]
                config = [(0, 0, 0)] * array.ndim
                config[axis] = (width, 0, 0) if side == 0 else (0, width, 0)
                if mode == "linear_ramp":
                    array = with_ramp(array, axis, width, side, value)
                else:
                    array = lax.pad(array, value, config)
    return weak_as(array, given)


def with_ramp(array, axis, width, side, end):
    """``array`` with a straight line from ``end`` to its outermost elements on one side."""
    edge = outermost(array, axis, side)
    shape = (*edge.shape[:axis], width, *edge.shape[axis + 1 :])
    counted = lax.convert_element_type(lax.broadcasted_iota("int32", shape, axis), "float32")
    share = lax.div(counted if side == 0 else lax.sub(float(width - 1), counted), float(width))
    end, edge = [lax.convert_element_type(spread_to(v, shape), "float32") for v in (end, edge)]
    ramp = lax.convert_element_type(lax.add(end, lax.mul(lax.sub(edge, end), share)), array.dtype)
    return lax.concatenate([ramp, array] if side == 0 else [array, ramp], axis)


def outermost(array, axis, side):
    """The first or last slice along an axis."""
    n = array.shape[axis]
    return lax.slice_in_dim(array, 0, 1, axis=axis) if side == 0 else lax.slice_in_dim(array, n - 1, n, axis=axis)


@fused(static=("widths", "mode"))
def padded(array, widths, mode):
    """Padding by elements of the array, or by what is computed from them."""
    for axis, (low, high) in enumerate(widths):
        n = array.shape[axis]
        if not low and not high:
            continue
        if n == 0:
            raise ValueError(f"pad: axis {axis} of {array.aval.str_short()} is empty, so mode {mode!r} has nothing to repeat")
        if mode in ("mean", "maximum", "minimum"):
            line = line_of(array, axis, mode)
            sides = [spread_to(line, (*array.shape[:axis], w, *array.shape[axis + 1 :])) for w in (low, high)]
            array = lax.concatenate([sides[0], array, sides[1]], axis)
        else:
            # NumPy knows where each padded place comes from: let it pad the positions.
            at = np.pad(np.arange(n, dtype="int32"), (low, high), mode)
            array = array[(slice(None),) * axis + (at,)]
    return array


def line_of(array, axis, mode):
    """The mean or an extreme along an axis, of size 1 there."""
    from rabbet.numpy import reductions, statistics

    if mode == "mean":
        mean = statistics.mean(array, axis, keepdims=True)
        return lax.convert_element_type(lax.round(mean) if dtypes.kind(array.dtype) in "iu" else mean, array.dtype)
    return (reductions.max if mode == "maximum" else reductions.min)(array, axis, keepdims=True)


# --------------------------------------------------------------------------------------- more and less elements
def append(arr, values, axis=None):
    """``values`` joined to the end of ``arr`` along ``axis``; for None both are flattened first."""
    check("append", arr, values)
    return concatenate([arr, values], axis)


def delete(arr, obj, axis=None, *, assume_unique_indices=False):
    """``arr`` without the slices at the given positions along ``axis``; for None, without elements in row-major order.

    Args:
      obj: an int, a slice, integers, or booleans, all known: the result's shape depends on them.
    """
    arr = array_of("delete", arr)
    if axis is None:
        arr, axis = ravel(arr), 0
    axis = axis_of("delete", axis, arr.ndim)
    obj = obj if isinstance(obj, slice) else np.asarray(obj)
    kept = np.delete(np.arange(arr.shape[axis], dtype="int32"), obj)
    return arr[(slice(None),) * axis + (kept,)]


def insert(arr, obj, values, axis=None):
    """``arr`` with values put in before the given positions along ``axis``; for None, among elements in row-major order.

    Args:
      obj: an int, a slice or integers, known.
      values: what to put in; broadcasts.
    """
    arr = array_of("insert", arr)
    values = asarray(values)
    if axis is None:
        arr, axis = ravel(arr), 0
    axis = axis_of("insert", axis, arr.ndim)
    n = arr.shape[axis]
    single = not isinstance(obj, slice) and np.ndim(obj) == 0
    at = np.arange(n)[obj] if isinstance(obj, slice) else np.atleast_1d(np.asarray(obj))
    if single:
        count = values.shape[axis] if values.ndim == arr.ndim and not arr.ndim == values.ndim == 0 else 1
        if arr.ndim == 1 and values.ndim == 1:
            count = values.shape[0]
        at = np.repeat(at, count)
        if values.ndim and values.ndim < arr.ndim:
            values = lax.expand_dims(values, (axis,)) if values.ndim == arr.ndim - 1 else values
    source = np.insert(np.arange(n, dtype="int32"), at, np.arange(n, n + len(at), dtype="int32"))
    values = spread_to(lax.convert_element_type(values, arr.dtype), (*arr.shape[:axis], len(at), *arr.shape[axis + 1 :]))
    return lax.concatenate([arr, values], axis)[(slice(None),) * axis + (source,)]


def resize(a, new_shape):
    """The elements of ``a`` in row-major order, repeated as often as needed or cut off, in another shape."""
    a = ravel(a)
    shape = shape_of("resize", new_shape)
    total = math.prod(shape)
    if not a.size:
        return lax.full(shape, 0, a.dtype)
    return lax.reshape(lax.slice_in_dim(tile(a, -(-total // a.size)), 0, total), shape)


def trim_zeros(filt, trim="fb"):
    """A vector without its leading (``"f"``) and trailing (``"b"``) zeros; its values must be known."""
    filt = asarray(filt)
    held = np.flatnonzero(np.asarray(filt))
    if not len(held):
        return filt[:0]
    return filt[held[0] if "f" in trim.lower() else 0 : held[-1] + 1 if "b" in trim.lower() else None]


__all__ = [
    "append", "delete", "flip", "fliplr", "flipud", "insert", "pad", "repeat", "resize", "roll", "rot90", "tile",
    "trim_zeros",
]  # fmt: skip
