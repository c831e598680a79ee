"""Filters made of a function that the caller gives: of a window, of a line, of a derivative."""

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from rabbet_vmap import vmap

import rabbet.numpy as rnp
from rabbet import Array, dtypes
from rabbet.scipy.inputs import axis_of
from rabbet.scipy.ndimage.boundary_modes import by_axis, extended, finished, opened
from rabbet.scipy.ndimage.filters import chosen, window_sides
from rabbet.scipy.ndimage.rank_filters import window_of, windows


def real(name, input):
    """An opened image of real numbers."""
    x = opened(name, input)
    if dtypes.kind(x.dtype) == "c":
        raise TypeError(f"{name}: complex numbers are not taken, as in SciPy; filter both parts")
    return x


def told(name, what, given, shape, function):
    """What a function gave, if it is an array of the shape that it has to be."""
    if given is None:
        raise TypeError(
            f"{name}: {what} must return its result, and {function!r} returned None\n"
            "  to fix: where SciPy's function writes to an array, one here returns the values"
        )
    given = rnp.asarray(given)
    if given.shape != shape:
        raise ValueError(f"{name}: {what} must return the shape {shape}, and returned {given.shape}")
    return given


def generic_filter(
    input: Array, function: Callable[..., Any], size: Any = None, footprint: Any = None, output: Any = None,
    mode: Any = "reflect", cval: float = 0.0, origin: Any = 0, extra_arguments: Sequence[Any] = (),
    extra_keywords: Mapping[str, Any] | None = None, *, axes: Any = None,
) -> Array:  # fmt: skip
    """A function of the window around each point.

    The function is traced once, for all points together, so it is made of Rabbet's functions: where SciPy
    takes ``np.ptp`` here it is ``rnp.ptp``.

    Args:
      input: an array of real numbers. Integers are computed as floats.
      function: of a vector, the numbers of the window in the order of its places; returns one number.
      size: of the window: a number, or one for each axis.
      footprint: an array of booleans, the window's places, instead of ``size``.
      output: a dtype for the result; None: that of ``input``. An array to write to is refused.
      mode, cval, origin: as for ``correlate1d``, or one for each axis.
      extra_arguments, extra_keywords: what else the function is given.
      axes: which axes the window has; None: all.

    Returns:
      an array of the shape of ``input``. Its derivatives are those of the function.

    Raises:
      ValueError, TypeError: if the function returns something else than one number.

    Example:
      >>> print(generic_filter(rnp.array([1.0, 5.0, 2.0, 0.0]), rnp.ptp, 3))
      [4. 4. 5. 2.]
    """
    name = "generic_filter"
    x = real(name, input)
    window, sides, modes = window_of(name, x, size, footprint, mode, origin, axes)
    points = windows(x, window, sides, modes, cval)
    keywords = dict(extra_keywords or {})

    def one(numbers):
        return told(name, "function", function(numbers, *extra_arguments, **keywords), (), function)

    out = vmap(one, in_axes=1)(points.reshape(points.shape[0], -1)) if x.size else rnp.zeros(0, x.dtype)
    return finished(out.reshape(x.shape), input, output, name)


def generic_filter1d(
    input: Array, function: Callable[..., Any], filter_size: int, axis: int = -1, output: Any = None,
    mode: str = "reflect", cval: float = 0.0, origin: int = 0, extra_arguments: Sequence[Any] = (),
    extra_keywords: Mapping[str, Any] | None = None,
) -> Array:  # fmt: skip
    """A function of each line along an axis.

    Args:
      input: an array of real numbers. Integers are computed as floats.
      function: of a line with what is beyond its ends, ``n + filter_size - 1`` numbers; returns the ``n``
        numbers of the filtered line. (SciPy's is given the line to write to as well.) It is traced once.
      filter_size: of the window, by which the line is made longer.
      axis, output, mode, cval, origin: as for ``correlate1d``.
      extra_arguments, extra_keywords: what else the function is given.

    Returns:
      an array of the shape of ``input``. Its derivatives are those of the function.

    Raises:
      ValueError, TypeError: if the function returns something else than ``n`` numbers.

    Example:
      >>> def differences(line):
      ...     return line[2:] - line[:-2]
      >>> print(generic_filter1d(rnp.array([1.0, 2.0, 4.0]), differences, 3))
      [1. 3. 2.]
    """
    name = "generic_filter1d"
    x = real(name, input)
    axis = axis_of(name, axis, x.ndim)
    (mode,) = by_axis(name, mode, 1)
    size, n = operator.index(filter_size), x.shape[axis]
    if size < 1:
        raise ValueError(f"{name}: filter_size must be 1 or more, got {filter_size}")
    sides = [(0, 0)] * x.ndim
    sides[axis] = window_sides(name, size, origin)
    lines = rnp.moveaxis(extended(x, sides, [mode] * x.ndim, cval), axis, -1)
    keywords = dict(extra_keywords or {})

    def one(line):
        return told(name, "function", function(line, *extra_arguments, **keywords), (n,), function)

    if not x.size:
        return finished(x, input, output, name)
    out = vmap(one)(lines.reshape(-1, lines.shape[-1])).reshape(*lines.shape[:-1], n)
    return finished(rnp.moveaxis(out, -1, axis), input, output, name)


def generic_laplace(
    input: Array, derivative2: Callable[..., Any], output: Any = None, mode: Any = "reflect",
    cval: float = 0.0, extra_arguments: Sequence[Any] = (), extra_keywords: Mapping[str, Any] | None = None,
    *, axes: Any = None,
) -> Array:  # fmt: skip
    """The sum over the axes of a second derivative that a function gives.

    Args:
      derivative2: ``derivative2(input, axis, output, mode, cval, *extra_arguments, **extra_keywords)``
        returns the second derivative along an axis; ``output`` is None.
      mode, cval: as for ``correlate1d``, or a mode for each axis.
      axes: along which; None: all.

    Returns:
      an array of the shape of ``input``.

    Raises:
      ValueError, TypeError: if the function returns another shape.

    Example:
      >>> def second(x, axis, output, mode, cval):
      ...     return correlate1d(x, rnp.array([1.0, -2.0, 1.0]), axis, output, mode, cval)
      >>> from rabbet.scipy.ndimage import correlate1d
      >>> print(generic_laplace(rnp.array([0.0, 0.0, 1.0, 0.0]), second))
      [ 0.  1. -2.  1.]
    """
    name = "generic_laplace"
    x, parts = _derivatives(
        name, "derivative2", input, derivative2, mode, cval, extra_arguments, extra_keywords, axes
    )
    return finished(sum(parts, rnp.zeros_like(x)), input, output, name)


def generic_gradient_magnitude(
    input: Array, derivative: Callable[..., Any], output: Any = None, mode: Any = "reflect",
    cval: float = 0.0, extra_arguments: Sequence[Any] = (), extra_keywords: Mapping[str, Any] | None = None,
    *, axes: Any = None,
) -> Array:  # fmt: skip
    """The length of a gradient whose parts a function gives. See ``generic_laplace``.

    Its derivative where the gradient is 0 is 0.

    Args:
      derivative: ``derivative(input, axis, output, mode, cval, *extra_arguments, **extra_keywords)``, as
        ``sobel`` and ``prewitt`` are.

    Example:
      >>> from rabbet.scipy.ndimage import sobel
      >>> print(generic_gradient_magnitude(rnp.array([0.0, 1.0, 3.0]), sobel))
      [1. 3. 2.]
    """
    name = "generic_gradient_magnitude"
    x, parts = _derivatives(
        name, "derivative", input, derivative, mode, cval, extra_arguments, extra_keywords, axes
    )
    total = sum([part * part for part in parts], rnp.zeros_like(x))
    flat = total == 0
    root = rnp.where(flat, 0, rnp.sqrt(rnp.where(flat, 1, total)))
    return finished(root, input, output, name)


def _derivatives(name, what, input, function, mode, cval, arguments, keywords, axes):
    """The opened image, and what the function gives along each axis."""
    x = opened(name, input)
    axes = chosen(name, axes, x.ndim)
    keywords = dict(keywords or {})
    return x, [
        told(name, what, function(x, axis, None, how, cval, *arguments, **keywords), x.shape, function)
        for axis, how in zip(axes, by_axis(name, mode, len(axes)), strict=True)
    ]


__all__ = ["generic_filter", "generic_filter1d", "generic_gradient_magnitude", "generic_laplace"]
