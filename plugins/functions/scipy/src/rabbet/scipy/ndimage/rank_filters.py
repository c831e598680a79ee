"""Filters that choose among the points of a window: the smallest, the largest, the median, any rank."""

import itertools
import math
import operator
from typing import Any

import numpy as np

import rabbet.numpy as rnp
from rabbet import Array, dtypes
from rabbet.scipy.inputs import array, axis_of
from rabbet.scipy.ndimage.boundary_modes import by_axis, extended, over_axes
from rabbet.scipy.ndimage.filters import chosen, window_sides


def windows(x, footprint, sides, modes, cval):
    """The points of the window around each point, along a new first axis."""
    padded = extended(x, sides, modes, cval)
    parts = []
    for place in itertools.product(*[range(n) for n in footprint.shape]):
        if footprint[place]:
            parts.append(padded[tuple([slice(k, k + n) for k, n in zip(place, x.shape, strict=True)])])
    return rnp.stack(parts)


def shape_of(name, size, footprint, ndim):
    """The window as an array of booleans."""
    if footprint is None:
        if size is None:
            raise ValueError(f"{name}: give size or footprint")
        sizes = [operator.index(s) for s in over_axes(name, "size", size, ndim)]
        if min(sizes, default=1) < 1:
            raise ValueError(f"{name}: size must be 1 or more, got {size}")
        return np.ones(sizes, bool)
    footprint = np.asarray(footprint, bool)
    if footprint.ndim != ndim or not footprint.any():
        raise ValueError(
            f"{name}: footprint must have {ndim} dimensions and a place in the window, got the shape "
            f"{footprint.shape}"
        )
    return footprint


def window_of(name, x, size, footprint, mode, origin, axes):
    """The window as an array of booleans with the dimensions of ``x``; by axis how many of its places lie
    before the point and after it, and the mode.
    """
    axes = chosen(name, axes, x.ndim)
    inner = shape_of(name, size, footprint, len(axes))
    order = np.argsort(axes)
    window = np.transpose(inner, order)
    window = window.reshape([inner.shape[axes.index(i)] if i in axes else 1 for i in range(x.ndim)])
    modes, origins = ["nearest"] * x.ndim, [0] * x.ndim
    settings = by_axis(name, mode, len(axes)), over_axes(name, "origin", origin, len(axes))
    for axis, how, moved in zip(axes, *settings, strict=True):
        modes[axis], origins[axis] = how, moved
    sides = [window_sides(name, n, o) for n, o in zip(window.shape, origins, strict=True)]
    return window, sides, modes


def ranked(name, input, choose, size, footprint, output, mode, cval, origin, axes):
    """A function of the points of the window around each point."""
    x = array(name, input)
    if dtypes.kind(x.dtype) == "c":
        raise TypeError(f"{name}: complex numbers have no order")
    if output is not None:
        raise TypeError(f"{name}: output must be None: arrays are not written to, and the dtype is input's")
    window, sides, modes = window_of(name, x, size, footprint, mode, origin, axes)
    return choose(windows(x, window, sides, modes, cval), int(window.sum()))


def maximum_filter(
    input: Array, size: Any = None, footprint: Any = None, output: Any = None, mode: Any = "reflect",
    cval: float = 0.0, origin: Any = 0, *, axes: Any = None,
) -> Array:  # fmt: skip
    """The largest number of the window around each point.

    Args:
      input: an array of real numbers.
      size: of the window: a number, or one for each axis.
      footprint: an array of booleans, the window's places, instead of ``size``.
      mode, cval, origin: as for ``correlate1d``, or one for each axis.
      axes: which axes the window has; None: all.

    Returns:
      an array of the shape and dtype of ``input``. The derivative goes to the numbers that were chosen,
      equal ones share it.

    Example:
      >>> print(maximum_filter(rnp.array([1.0, 5.0, 2.0, 0.0]), 3))
      [5. 5. 5. 2.]
    """
    return ranked(
        "maximum_filter", input, lambda w, _: rnp.max(w, 0), size, footprint, output, mode, cval, origin, axes
    )


def minimum_filter(
    input: Array, size: Any = None, footprint: Any = None, output: Any = None, mode: Any = "reflect",
    cval: float = 0.0, origin: Any = 0, *, axes: Any = None,
) -> Array:  # fmt: skip
    """The smallest number of the window around each point. See ``maximum_filter``.

    Example:
      >>> print(minimum_filter(rnp.array([1.0, 5.0, 2.0, 0.0]), 3))
      [1. 1. 0. 0.]
    """
    return ranked(
        "minimum_filter", input, lambda w, _: rnp.min(w, 0), size, footprint, output, mode, cval, origin, axes
    )


def maximum_filter1d(
    input: Array, size: int, axis: int = -1, output: Any = None, mode: str = "reflect", cval: float = 0.0,
    origin: int = 0,
) -> Array:  # fmt: skip
    """The largest number of a window along an axis. See ``maximum_filter``.

    Example:
      >>> print(maximum_filter1d(rnp.array([1.0, 5.0, 2.0, 0.0]), 3))
      [5. 5. 5. 2.]
    """
    axis = axis_of("maximum_filter1d", axis, rnp.ndim(input))
    return maximum_filter(input, size, None, output, mode, cval, origin, axes=(axis,))


def minimum_filter1d(
    input: Array, size: int, axis: int = -1, output: Any = None, mode: str = "reflect", cval: float = 0.0,
    origin: int = 0,
) -> Array:  # fmt: skip
    """The smallest number of a window along an axis. See ``maximum_filter``.

    Example:
      >>> print(minimum_filter1d(rnp.array([1.0, 5.0, 2.0, 0.0]), 3))
      [1. 1. 0. 0.]
    """
    axis = axis_of("minimum_filter1d", axis, rnp.ndim(input))
    return minimum_filter(input, size, None, output, mode, cval, origin, axes=(axis,))


def rank_filter(
    input: Array, rank: int, size: Any = None, footprint: Any = None, output: Any = None,
    mode: Any = "reflect", cval: float = 0.0, origin: Any = 0, *, axes: Any = None,
) -> Array:  # fmt: skip
    """The number of a rank in the window around each point. See ``maximum_filter``.

    Args:
      rank: from 0, the smallest; -1 is the largest.

    Raises:
      ValueError: for a rank that the window does not have.

    Example:
      >>> print(rank_filter(rnp.array([1.0, 5.0, 2.0, 0.0]), 1, 3))
      [1. 2. 2. 0.]
    """
    rank = operator.index(rank)

    def choose(window, count):
        if not -count <= rank < count:
            raise ValueError(f"rank_filter: rank must be below the {count} places of the window, got {rank}")
        return rnp.sort(window, 0)[rank % count]

    return ranked("rank_filter", input, choose, size, footprint, output, mode, cval, origin, axes)


def median_filter(
    input: Array, size: Any = None, footprint: Any = None, output: Any = None, mode: Any = "reflect",
    cval: float = 0.0, origin: Any = 0, *, axes: Any = None,
) -> Array:  # fmt: skip
    """The median of the window around each point; of an even number of places the upper one of two, as in
    SciPy. See ``maximum_filter``.

    Example:
      >>> print(median_filter(rnp.array([1.0, 5.0, 2.0, 0.0]), 3))
      [1. 2. 2. 0.]
    """

    def choose(window, count):
        return rnp.sort(window, 0)[count // 2]

    return ranked("median_filter", input, choose, size, footprint, output, mode, cval, origin, axes)


def percentile_filter(
    input: Array, percentile: float, size: Any = None, footprint: Any = None, output: Any = None,
    mode: Any = "reflect", cval: float = 0.0, origin: Any = 0, *, axes: Any = None,
) -> Array:  # fmt: skip
    """A percentile of the window around each point, one of its numbers. See ``maximum_filter``.

    Args:
      percentile: from -100 to 100; negative ones count from 100.

    Example:
      >>> print(percentile_filter(rnp.array([1.0, 5.0, 2.0, 0.0]), 50, 3))
      [1. 2. 2. 0.]
    """
    share = float(percentile) + 100.0 * (percentile < 0)
    if not 0.0 <= share <= 100.0:
        raise ValueError(f"percentile_filter: percentile must be from -100 to 100, got {percentile}")

    def choose(window, count):
        return rnp.sort(window, 0)[min(math.floor(count * share / 100.0), count - 1)]

    return ranked("percentile_filter", input, choose, size, footprint, output, mode, cval, origin, axes)


__all__ = [
    "maximum_filter", "maximum_filter1d", "median_filter", "minimum_filter", "minimum_filter1d",
    "percentile_filter", "rank_filter",
]  # fmt: skip
