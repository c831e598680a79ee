"""Putting elements around an array: ``pad``."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from rabbet import dtypes, lax
from rabbet.errors import ShapeError
from rabbet.extend.functions import fused
from rabbet.extend.transform import typeof
from rabbet.numpy.creation.conversion import asarray
from rabbet.numpy.reductions.reducing import spread_to
from rabbet.numpy.shapes.reshaping import array_of
from rabbet.numpy.support.arguments import axis_of, weak_as

if TYPE_CHECKING:
    from rabbet.typing import Value


def widths_of(array: Any, pad_width: Any, name: Any = "pad_width") -> Any:
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
        raise ShapeError(
            f"pad: {name} must be an int, a pair, or {ndim} pairs for "
            f"{typeof(array).str_short()}, got {pad_width!r}"
        ) from None
    if any(w < 0 for pair in widths for w in pair):
        raise ShapeError(
            f"pad: {name} must not be negative, got {pad_width!r}; take a slice to remove elements"
        )
    return widths


PAD_MODES = "constant edge reflect symmetric wrap empty mean median maximum minimum linear_ramp".split()
OF_LINES = ("mean", "median", "maximum", "minimum")


# What each mode takes besides the widths.
TAKES = {
    "constant": "constant_values", "linear_ramp": "end_values", "reflect": "reflect_type",
    "symmetric": "reflect_type", **dict.fromkeys(OF_LINES, "stat_length"),
}  # fmt: skip


def pad(array: Value, pad_width: Any, mode: Any = "constant", **kwargs: Any) -> Value:
    """``array`` with elements put around it.

    Args:
      array: an array.
      pad_width: how many: an int, a pair (before, after), a pair per dimension, or a dict from axes to
        these.
      mode: ``"constant"``, ``"edge"`` (repeat the outermost), ``"reflect"`` and ``"symmetric"`` (mirror
        without and with the outermost), ``"wrap"`` (from the other end), ``"empty"``, ``"mean"``,
        ``"median"``, ``"maximum"``, ``"minimum"`` (of the line), ``"linear_ramp"`` (down to ``end_values``);
        or a function ``(line, widths, axis, kwargs)`` that returns each line along each axis, which it is
        given with zeros around it.
      kwargs: ``constant_values`` for ``"constant"`` and ``end_values`` for ``"linear_ramp"``: a number, a
        pair, or a pair per dimension, 0 by default. ``reflect_type`` for ``"reflect"`` and
        ``"symmetric"``: ``"even"``, or ``"odd"``: mirrored at the outermost element, not only at its place.
        ``stat_length`` for the modes of a line: how many elements at each end count, as ``pad_width``; all by
        default. A function is given them all.

    Raises:
      ValueError: for negative widths, an empty dimension that has nothing to repeat, or what the mode does
        not take.
      NotImplementedError: for another mode.

    Example:
      >>> rnp.pad(rnp.arange(3), (1, 2), constant_values=9)
      Array([9, 0, 1, 2, 9, 9], dtype=int32)
      >>> rnp.pad(rnp.arange(3), 1, mode="reflect")
      Array([1, 0, 1, 2, 1], dtype=int32)
    """
    array = array_of("pad", array)
    widths = widths_of(array, pad_width)
    if callable(mode):
        return padded_by_function(array, widths, mode, kwargs)
    if mode not in PAD_MODES:
        raise NotImplementedError(f"pad: mode {mode!r} is not there; modes: {', '.join(PAD_MODES)}")
    takes = TAKES.get(mode, "")
    others = ", ".join(sorted(set(kwargs) - {takes}))
    if others:
        raise ValueError(f"pad: mode {mode!r} takes {takes or 'no further arguments'}, got {others}")
    if mode in ("constant", "empty", "linear_ramp"):
        values = kwargs.get(takes, 0)
        if type(values) in (int, float) and not values and typeof(array).mat.unreduced:
            return lax.pad(array, 0, [(low, high, 0) for low, high in widths])  # of each addend
        if mode != "linear_ramp" and not np.ndim(values):
            value = lax.convert_element_type(values, typeof(array).dtype)
            return padded_with_one(array, widths, value)
        return padded_with_values(array, widths, values_of(array, values), mode)
    reflect_type, counted = kwargs.get("reflect_type", "even"), kwargs.get("stat_length")
    if reflect_type not in ("even", "odd"):
        raise ValueError(f"pad: reflect_type must be 'even' or 'odd', got {reflect_type!r}")
    lengths = None if counted is None else widths_of(array, counted, "stat_length")
    if lengths is not None and any(n == 0 for pair in lengths for n in pair):
        raise ValueError(f"pad: stat_length must be at least 1, got {counted!r}")
    return weak_as(padded(array, widths, mode, lengths, reflect_type == "odd"), array)


def padded_by_function(
    array: Value, widths: tuple[tuple[int, ...], ...], function: Callable[..., Any], kwargs: dict[Any, Any]
) -> Value:
    """Zeros around, which a function fills in: along the first axis, then along the next."""
    from rabbet.numpy.mapped.vectorizing import apply_along_axis

    out = lax.pad(array, lax.full((), 0, array.dtype), [(low, high, 0) for low, high in widths])
    for axis, pair in enumerate(widths):
        n = out.shape[axis]
        lines = apply_along_axis(function, axis, out, pair, axis, kwargs)
        if lines.shape != out.shape:
            raise ValueError(f"pad: the function must return a line of {n} elements, as it is given one")
        out = lines
    return out


def values_of(array: Value, values: Any) -> Value:
    """Padding values, ``(low, high)`` per dimension, as an array of the array's dtype."""
    values = lax.convert_element_type(
        asarray(values) if isinstance(values, (tuple, list)) else values, typeof(array).dtype
    )
    return spread_to(values, (typeof(array).ndim, 2))


@fused(static=("widths",))
def padded_with_one(array: Value, widths: tuple[tuple[int, ...], ...], value: Value) -> Value:
    """Padding by the same value everywhere: one operation, so that an array that is cut keeps even parts."""
    value = lax.reshape(value, ())
    return weak_as(lax.pad(array, value, [(low, high, 0) for low, high in widths]), array)


@fused(static=("widths", "mode"))
def padded_with_values(array: Value, widths: tuple[tuple[int, ...], ...], values: Value, mode: str) -> Value:
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


def with_ramp(array: Value, axis: int, width: int, side: int, end: Value) -> Value:
    """``array`` with a straight line from ``end`` to its outermost elements on one side."""
    edge = outermost(array, axis, side)
    shape = (*edge.shape[:axis], width, *edge.shape[axis + 1 :])
    counted = lax.broadcasted_iota("int32", shape, axis)
    counted = counted if side == 0 else lax.sub(width - 1, counted)
    end, edge = spread_to(end, shape), spread_to(edge, shape)
    line = whole_line if dtypes.kind(array.dtype) in "iu" else straight_line
    ramp = lax.convert_element_type(line(end, edge, counted, width), array.dtype)
    return lax.concatenate([ramp, array] if side == 0 else [array, ramp], axis)


def straight_line(end: Value, edge: Value, counted: Value, width: int) -> Value:
    """``end + (edge - end) * counted / width``; half precision is computed in single precision."""
    dtype = typeof(end).dtype
    if dtypes.kind(dtype) not in "fc" or dtypes.itemsize_bits(dtype) < 32:
        dtype = np.dtype("float32")
    end, edge, counted = [lax.convert_element_type(v, dtype) for v in (end, edge, counted)]
    return lax.add(end, lax.div(lax.mul(lax.sub(edge, end), counted), lax.full_like(counted, width)))


def whole_line(end: Value, edge: Value, counted: Value, width: int) -> Value:
    """The same, rounded down, as NumPy has it: exact for all integers, because the distance is an unsigned
    number of which each of the ``width`` parts is known with what remains.
    """
    up = lax.ge(edge, end)
    dtype = "uint64" if typeof(end).dtype.itemsize == 8 else "uint32"
    end, edge, counted = [lax.convert_element_type(v, dtype) for v in (end, edge, counted)]
    size = lax.select(up, lax.sub(edge, end), lax.sub(end, edge))
    parts = lax.full_like(size, width)
    rest = lax.mul(lax.rem(size, parts), counted)
    way = lax.add(lax.mul(lax.div(size, parts), counted), lax.div(rest, parts))
    broken = lax.convert_element_type(lax.ne(lax.rem(rest, parts), lax.full_like(rest, 0)), dtype)
    return lax.select(up, lax.add(end, way), lax.sub(end, lax.add(way, broken)))


def outermost(array: Value, axis: int, side: int) -> Value:
    """The first or last slice along an axis."""
    n = array.shape[axis]
    return (
        lax.slice_in_dim(array, 0, 1, axis=axis)
        if side == 0
        else lax.slice_in_dim(array, n - 1, n, axis=axis)
    )


@fused(static=("widths", "mode", "lengths", "odd"))
def padded(array: Value, widths: tuple[tuple[int, ...], ...], mode: Any, lengths: Any, odd: bool) -> Value:
    """Padding by elements of the array, or by what is computed from them."""
    for axis, (low, high) in enumerate(widths):
        n = array.shape[axis]
        if not low and not high:
            continue
        if n == 0:
            raise ValueError(
                f"pad: axis {axis} of {array.aval.str_short()} is empty, so mode "
                f"{mode!r} has nothing to repeat"
            )
        if mode in OF_LINES:
            first, last = (n, n) if lengths is None else [min(k, n) for k in lengths[axis]]
            ends = [
                lax.slice_in_dim(array, 0, first, axis=axis),
                lax.slice_in_dim(array, n - last, n, axis=axis),
            ]
            sides = [
                spread_to(line_of(end, axis, mode), (*array.shape[:axis], w, *array.shape[axis + 1 :]))
                for end, w in zip(ends, (low, high), strict=True)
            ]
            array = lax.concatenate([sides[0], array, sides[1]], axis)
        elif odd and n > 1:
            array = mirrored_oddly(array, axis, (low, high), mode)
        else:
            # NumPy knows where each padded place comes from: let it pad the positions.
            at = np.pad(np.arange(n, dtype="int32"), (low, high), mode)
            array = array[(slice(None),) * axis + (at,)]
    return array


def mirrored_oddly(array: Any, axis: Any, widths: Any, mode: Any) -> Any:
    """Each end mirrored at its outermost element: twice that element less the one as far inside; and so on.

    From one mirror image to the next what is between the ends is added once more, so that a place in the
    image ``q`` is known at once.
    """
    n = array.shape[axis]
    q, at = np.divmod(np.arange(-widths[0], n + widths[1]), n - 1 if mode == "reflect" else n)
    turned = q % 2 == 1
    at = np.where(turned, n - 1 - at, at)

    def along(values: Any, dtype: Any) -> Any:
        shape = [len(values) if d == axis else 1 for d in range(array.ndim)]
        return asarray(np.reshape(values, shape), dtype)

    first, end = outermost(array, axis, 0), outermost(array, axis, 1)
    found = array[(slice(None),) * axis + (at,)]
    shape = found.shape
    images = lax.mul(spread_to(along(q, array.dtype), shape), spread_to(lax.sub(end, first), shape))
    flipped = lax.sub(spread_to(lax.add(end, first), shape), found)
    image = lax.select(spread_to(along(turned, bool), shape), flipped, found)
    return lax.select(spread_to(along(q == 0, bool), shape), found, lax.add(image, images))


def line_of(array: Value, axis: int, mode: str) -> Value:
    """The mean, the median or an extreme along an axis, of size 1 there."""
    from rabbet.numpy.reductions import quantiles, reducing, statistics

    if mode in ("mean", "median"):
        mean = (statistics.mean if mode == "mean" else quantiles.median)(array, axis, keepdims=True)
        return lax.convert_element_type(
            lax.round(mean, lax.RoundingMethod.TO_NEAREST_EVEN) if dtypes.kind(array.dtype) in "iu" else mean,
            array.dtype,
        )
    return (reducing.max if mode == "maximum" else reducing.min)(array, axis, keepdims=True)


__all__ = ["pad"]
