"""Linear filters of images: correlations with weights, Gaussian, uniform, differences.

A filter of a few weights is a sum of shifted images, a longer one a convolution of XLA. What is beyond the
ends is written out first, by the mode.
"""

import functools
import itertools
import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

import rabbet.numpy as rnp
from rabbet import Array, dtypes, lax
from rabbet.extend.functions import fused
from rabbet.extend.transform import is_tracer
from rabbet.scipy.inputs import array, axis_of
from rabbet.scipy.ndimage.boundary_modes import by_axis, extended, finished, opened, over_axes

FEW = 27  # up to how many weights a filter is a sum of shifted images


def weighed(x, weights, sides, modes, cval):
    """The sum of ``weights[k] * x[i + k - before]`` over all ``k``; ``weights`` has the dimensions of ``x``.

    Args:
      sides: per axis how many places of the window lie before the point, and how many after it.
    """
    padded = extended(x, sides, modes, cval)
    weights = rnp.asarray(weights, x.dtype)
    size = math.prod(weights.shape)
    if size > FEW and dtypes.kind(x.dtype) == "f":
        out = lax.conv_general_dilated(
            padded[None, None], weights[None, None], (1,) * x.ndim, "VALID", precision=lax.Precision.HIGHEST
        )
        return out[0, 0]
    total = rnp.zeros(x.shape, x.dtype)
    for place in itertools.product(*[range(n) for n in weights.shape]):
        window = tuple([slice(k, k + n) for k, n in zip(place, x.shape, strict=True)])
        total = total + weights[place] * padded[window]
    return total


def window_sides(name, size, origin):
    """How many places of a window lie before the point, and how many after it."""
    before = size // 2 + operator.index(origin)
    if not 0 <= before < size:
        raise ValueError(
            f"{name}: origin must keep the point inside the window of {size} places, got {origin}"
        )
    return before, size - 1 - before


def along(x, weights, axis, mode, cval, origin, name):
    """A filter of one dimension along an axis of an opened image."""
    n = weights.shape[0]
    sides = [(0, 0)] * x.ndim
    sides[axis] = window_sides(name, n, origin)
    if n > FEW and dtypes.kind(x.dtype) == "f":
        # The other axes as a batch.
        padded = rnp.moveaxis(extended(x, sides, [mode] * x.ndim, cval), axis, -1)
        flat = padded.reshape(-1, 1, padded.shape[-1])
        out = lax.conv_general_dilated(
            flat, rnp.asarray(weights, x.dtype)[None, None], (1,), "VALID", precision=lax.Precision.HIGHEST
        )
        return rnp.moveaxis(out.reshape(*padded.shape[:-1], -1), -1, axis)
    shape = [1] * x.ndim
    shape[axis] = n
    return weighed(x, rnp.reshape(rnp.asarray(weights), shape), sides, [mode] * x.ndim, cval)


@fused(static=("axis", "output", "mode", "origin"))
def correlate1d(
    input: Array, weights: Array, axis: int = -1, output: Any = None, mode: str = "reflect",
    cval: float = 0.0, origin: int = 0,
) -> Array:  # fmt: skip
    """The correlation of an image with weights along one axis.

    Args:
      input: an array of any number of dimensions. Integers are computed as floats and cut off, as in SciPy.
      weights: a vector.
      axis: along which.
      output: a dtype for the result; None: that of ``input``. An array to write to is refused.
      mode: what is beyond the ends: ``"reflect"``: the mirror image about the edge; ``"mirror"``: about the
        last point; ``"nearest"``: the last point; ``"wrap"``: the image again; ``"constant"``: ``cval``.
        SciPy's names with ``grid-`` are known too.
      cval: a number.
      origin: by how many places the window is moved to the left.

    Returns:
      an array of the shape of ``input``. Derivatives of both modes and any order, by ``weights`` too.

    Raises:
      ValueError: for an unknown mode, a vector without weights, or an origin beyond the window.

    Example:
      >>> print(correlate1d(rnp.array([1.0, 2.0, 4.0]), rnp.array([1.0, 0.0, -1.0])))
      [-1. -3. -2.]
    """
    x = opened("correlate1d", input, weights)
    weights = vector("correlate1d", weights)
    axis = axis_of("correlate1d", axis, x.ndim)
    (mode,) = by_axis("correlate1d", mode, 1)
    return finished(along(x, weights, axis, mode, cval, origin, "correlate1d"), input, output, "correlate1d")


@fused(static=("axis", "output", "mode", "origin"))
def convolve1d(
    input: Array, weights: Array, axis: int = -1, output: Any = None, mode: str = "reflect",
    cval: float = 0.0, origin: int = 0,
) -> Array:  # fmt: skip
    """The convolution of an image with weights along one axis: ``correlate1d`` with the weights turned round.

    Example:
      >>> print(convolve1d(rnp.array([1.0, 2.0, 4.0]), rnp.array([1.0, 0.0, -1.0])))
      [1. 3. 2.]
    """
    weights = vector("convolve1d", weights)
    turned = -operator.index(origin) - (weights.shape[0] % 2 == 0)
    return correlate1d(input, weights[::-1], axis, output, mode, cval, turned)


def vector(name, weights):
    weights = array(name, weights)
    if weights.ndim != 1 or weights.shape[0] == 0:
        raise ValueError(f"{name}: weights must be a vector of at least one number, got {weights.shape}")
    return weights


@fused(static=("output", "mode", "origin"))
def correlate(
    input: Array, weights: Array, output: Any = None, mode: str = "reflect", cval: float = 0.0,
    origin: Any = 0,
) -> Array:  # fmt: skip
    """The correlation of an image with weights of as many dimensions. See ``correlate1d``.

    Args:
      origin: a number, or one for each axis.

    Example:
      >>> print(correlate(rnp.arange(4.0).reshape(2, 2), rnp.ones((1, 2))))
      [[0. 1.]
       [4. 5.]]
    """
    return _correlated("correlate", input, weights, output, mode, cval, origin, False)


@fused(static=("output", "mode", "origin"))
def convolve(
    input: Array, weights: Array, output: Any = None, mode: str = "reflect", cval: float = 0.0,
    origin: Any = 0,
) -> Array:  # fmt: skip
    """The convolution of an image with weights of as many dimensions. See ``correlate1d``.

    Example:
      >>> print(convolve(rnp.arange(4.0).reshape(2, 2), rnp.ones((1, 2))))
      [[1. 2.]
       [5. 6.]]
    """
    return _correlated("convolve", input, weights, output, mode, cval, origin, True)


def _correlated(name, input, weights, output, mode, cval, origin, turned):
    x, weights = opened(name, input, weights), array(name, weights)
    if weights.ndim != x.ndim or 0 in weights.shape:
        raise ValueError(
            f"{name}: weights must have the {x.ndim} dimensions of input, and at least one number, got the "
            f"shape {weights.shape}"
        )
    modes, origins = by_axis(name, mode, x.ndim), over_axes(name, "origin", origin, x.ndim)
    if turned:
        origins = [-operator.index(o) - (n % 2 == 0) for o, n in zip(origins, weights.shape, strict=True)]
        weights = rnp.flip(weights)
    sides = [window_sides(name, n, o) for n, o in zip(weights.shape, origins, strict=True)]
    return finished(weighed(x, weights, sides, modes, cval), input, output, name)


# ----------------------------------------------------------------------------------------- uniform
@fused(static=("size", "axis", "output", "mode", "origin"))
def uniform_filter1d(
    input: Array, size: int, axis: int = -1, output: Any = None, mode: str = "reflect", cval: float = 0.0,
    origin: int = 0,
) -> Array:  # fmt: skip
    """The mean over a window of ``size`` places along an axis. See ``correlate1d``.

    Example:
      >>> print(uniform_filter1d(rnp.array([0.0, 3.0, 6.0]), 3))
      [1. 3. 5.]
    """
    x = opened("uniform_filter1d", input)
    axis = axis_of("uniform_filter1d", axis, x.ndim)
    (mode,) = by_axis("uniform_filter1d", mode, 1)
    out = averaged("uniform_filter1d", x, size, axis, mode, cval, origin)
    return finished(out, input, output, "uniform_filter1d")


def averaged(name, x, size, axis, mode, cval, origin):
    size = operator.index(size)
    if size < 1:
        raise ValueError(f"{name}: size must be 1 or more, got {size}")
    return along(x, np.ones(size), axis, mode, cval, origin, name) * (1.0 / size)


@fused(static=("size", "output", "mode", "origin", "axes"))
def uniform_filter(
    input: Array, size: Any = 3, output: Any = None, mode: Any = "reflect", cval: float = 0.0,
    origin: Any = 0, *, axes: Any = None,
) -> Array:  # fmt: skip
    """The mean over a box around each point. See ``correlate1d``.

    Args:
      size: of the box: a number, or one for each axis. ``mode`` and ``origin`` too.
      axes: over which axes; None: all.

    Example:
      >>> print(uniform_filter(rnp.array([[0.0, 3.0, 6.0]]), 3))
      [[1. 3. 5.]]
    """
    name = "uniform_filter"
    x = opened(name, input)
    axes = chosen(name, axes, x.ndim)
    n = len(axes)
    settings = over_axes(name, "size", size, n), by_axis(name, mode, n), over_axes(name, "origin", origin, n)
    for axis, one, how, moved in zip(axes, *settings, strict=True):
        x = averaged(name, x, one, axis, how, cval, moved)
    return finished(x, input, output, name)


def chosen(name, axes, ndim):
    """Axes as a tuple of numbers from 0 on."""
    if axes is None:
        return tuple(range(ndim))
    axes = (axes,) if not isinstance(axes, Sequence) else tuple(axes)
    axes = tuple([axis_of(name, a, ndim) for a in axes])
    if len(set(axes)) != len(axes):
        raise ValueError(f"{name}: axes must differ, got {axes}")
    return axes


# ---------------------------------------------------------------------------------------- Gaussian
def gaussian_weights(sigma, order, radius):
    """The Gaussian, of sum 1, at ``-radius`` to ``radius``; or its derivative number ``order``."""
    x = rnp.arange(-radius, radius + 1)
    x = rnp.asarray(x, dtypes.to_inexact(dtypes.result_type(sigma, 1.0)))
    square = sigma * sigma
    weights = rnp.exp(-0.5 * x * x / square)
    weights = weights / rnp.sum(weights)
    # p_(n + 1) = p_n' - x / sigma ** 2 p_n, coefficients of powers of x.
    row = [1.0]
    for _ in range(order):
        slope = [k * c for k, c in enumerate(row)][1:] + [0.0, 0.0]
        row = [d - (row[k - 1] / square if k else 0.0) for k, d in enumerate(slope[: len(row) + 1])]
    factor = functools.reduce(lambda total, c: total * x + c, row[::-1], 0.0 * x)
    return weights * factor


def smoothed(name, x, sigma, axis, order, mode, cval, truncate, radius):
    order = operator.index(order)
    if order < 0:
        raise ValueError(f"{name}: order must be 0 or more, got {order}")
    if radius is None:
        if is_tracer(sigma):
            raise TypeError(
                f"{name}: sigma decides how wide the window is, so it must be a number where it is traced; "
                "give radius to say how wide, and sigma may be traced"
            )
        radius = int(float(truncate) * float(sigma) + 0.5)
    radius = operator.index(radius)
    if radius < 0:
        raise ValueError(f"{name}: radius must be 0 or more, got {radius}")
    weights = gaussian_weights(rnp.asarray(sigma, x.real.dtype), order, radius)
    return along(x, weights[::-1], axis, mode, cval, 0, name)


def gaussian_filter1d(
    input: Array, sigma: Any, axis: int = -1, order: int = 0, output: Any = None, mode: str = "reflect",
    cval: float = 0.0, truncate: float = 4.0, *, radius: int | None = None,
) -> Array:  # fmt: skip
    """A Gaussian filter along one axis. See ``correlate1d``.

    Args:
      sigma: the standard deviation, in points. A number, unless ``radius`` is given; then it may be traced
        and differentiated.
      order: 0: smoothing; ``n``: with the derivative number ``n`` of the Gaussian.
      truncate: how many standard deviations the window reaches.
      radius: how many points it reaches, instead.

    Example:
      >>> out = gaussian_filter1d(rnp.array([0.0, 0.0, 1.0, 0.0, 0.0]), 0.5)
      >>> [round(v, 3) for v in out.tolist()]
      [0.0, 0.106, 0.787, 0.106, 0.0]
    """
    name = "gaussian_filter1d"
    x = opened(name, input, sigma)
    axis = axis_of(name, axis, x.ndim)
    (mode,) = by_axis(name, mode, 1)
    out = smoothed(name, x, sigma, axis, order, mode, cval, truncate, radius)
    return finished(out, input, output, name)


def gaussian_filter(
    input: Array, sigma: Any, order: Any = 0, output: Any = None, mode: Any = "reflect", cval: float = 0.0,
    truncate: float = 4.0, *, radius: Any = None, axes: Any = None,
) -> Array:  # fmt: skip
    """A Gaussian filter, along one axis after the other. See ``gaussian_filter1d``.

    Args:
      sigma: a number, or one for each axis; ``order``, ``mode`` and ``radius`` too. An axis of deviation 0
        stays as it is.
      axes: along which; None: all.

    Example:
      >>> image = rnp.zeros((5, 5)).at[2, 2].set(1.0)
      >>> [round(v, 3) for v in gaussian_filter(image, 1.0)[2].tolist()]
      [0.023, 0.097, 0.159, 0.097, 0.023]
    """
    name = "gaussian_filter"
    x = opened(name, input, *(sigma if isinstance(sigma, (tuple, list)) else [sigma]))
    axes = chosen(name, axes, x.ndim)
    n = len(axes)
    settings = [over_axes(name, what, v, n) for what, v in
                (("sigma", sigma), ("order", order), ("radius", radius))]  # fmt: skip
    for axis, one, d, reach, how in zip(axes, *settings, by_axis(name, mode, n), strict=True):
        if is_tracer(one) or float(one) > 1e-15:
            x = smoothed(name, x, one, axis, d, how, cval, truncate, reach)
    return finished(x, input, output, name)


def gaussian_laplace(
    input: Array, sigma: Any, output: Any = None, mode: Any = "reflect", cval: float = 0.0,
    *, axes: Any = None, **kwargs: Any,
) -> Array:  # fmt: skip
    """The sum of the second derivatives by a Gaussian filter. ``kwargs`` go to ``gaussian_filter``.

    Example:
      >>> out = gaussian_laplace(rnp.array([0.0, 0.0, 1.0, 0.0, 0.0]), 1.0)
      >>> [round(v, 3) for v in out.tolist()]
      [0.197, 0.002, -0.399, 0.002, 0.197]
    """
    return _over("gaussian_laplace", input, sigma, output, mode, cval, axes, kwargs, 2, lambda d: d)


def gaussian_gradient_magnitude(
    input: Array, sigma: Any, output: Any = None, mode: Any = "reflect", cval: float = 0.0,
    *, axes: Any = None, **kwargs: Any,
) -> Array:  # fmt: skip
    """The length of the gradient by a Gaussian filter. ``kwargs`` go to ``gaussian_filter``.

    Example:
      >>> out = gaussian_gradient_magnitude(rnp.array([0.0, 0.0, 1.0, 0.0, 0.0]), 1.0)
      >>> [round(v, 3) for v in out.tolist()]
      [0.095, 0.241, 0.0, 0.241, 0.095]
    """
    out = _over(
        "gaussian_gradient_magnitude", input, sigma, None, mode, cval, axes, kwargs, 1, lambda d: d * d
    )
    flat = out == 0
    root = rnp.where(flat, 0, rnp.sqrt(rnp.where(flat, 1, out)))
    return finished(root, input, output, "gaussian_gradient_magnitude")


def _over(name, input, sigma, output, mode, cval, axes, kwargs, order, function):
    """The sum over the axes of a function of the derivative along each."""
    x = opened(name, input)
    axes = chosen(name, axes, x.ndim)
    total = 0
    for i in range(len(axes)):
        orders = [order * (i == j) for j in range(len(axes))]
        total = total + function(gaussian_filter(x, sigma, orders, None, mode, cval, axes=axes, **kwargs))
    return total if order == 1 else finished(total, input, output, name)


# ------------------------------------------------------------------------------------- differences
@fused(static=("axis", "output", "mode"))
def sobel(
    input: Array, axis: int = -1, output: Any = None, mode: Any = "reflect", cval: float = 0.0
) -> Array:
    """Sobel's filter: differences along an axis, weighed 1, 2, 1 along the others. See ``correlate1d``.

    Example:
      >>> print(sobel(rnp.array([[0.0, 1.0, 3.0], [0.0, 1.0, 3.0]])))
      [[ 4. 12.  8.]
       [ 4. 12.  8.]]
    """
    return _edges("sobel", input, axis, output, mode, cval, [1.0, 2.0, 1.0])


@fused(static=("axis", "output", "mode"))
def prewitt(
    input: Array, axis: int = -1, output: Any = None, mode: Any = "reflect", cval: float = 0.0
) -> Array:
    """Prewitt's filter: differences along an axis, summed over three points along the others.

    Example:
      >>> print(prewitt(rnp.array([[0.0, 1.0, 3.0], [0.0, 1.0, 3.0]])))
      [[3. 9. 6.]
       [3. 9. 6.]]
    """
    return _edges("prewitt", input, axis, output, mode, cval, [1.0, 1.0, 1.0])


def _edges(name, input, axis, output, mode, cval, weights):
    x = opened(name, input)
    axis = axis_of(name, axis, x.ndim)
    modes = by_axis(name, mode, x.ndim)
    x = along(x, np.array([-1.0, 0.0, 1.0]), axis, modes[axis], cval, 0, name)
    for other in range(x.ndim):
        if other != axis:
            x = along(x, np.array(weights), other, modes[other], cval, 0, name)
    return finished(x, input, output, name)


@fused(static=("output", "mode", "axes"))
def laplace(
    input: Array, output: Any = None, mode: Any = "reflect", cval: float = 0.0, *, axes: Any = None
) -> Array:
    """The sum of second differences along all axes. See ``correlate1d``.

    Example:
      >>> print(laplace(rnp.array([0.0, 0.0, 1.0, 0.0])))
      [ 0.  1. -2.  1.]
    """
    x = opened("laplace", input)
    axes = chosen("laplace", axes, x.ndim)
    modes = by_axis("laplace", mode, len(axes))
    second = np.array([1.0, -2.0, 1.0])
    total = rnp.zeros_like(x)
    for axis, how in zip(axes, modes, strict=True):
        total = total + along(x, second, axis, how, cval, 0, "laplace")
    return finished(total, input, output, "laplace")


__all__ = [
    "convolve", "convolve1d", "correlate", "correlate1d", "gaussian_filter", "gaussian_filter1d",
    "gaussian_gradient_magnitude", "gaussian_laplace", "laplace", "prewitt", "sobel", "uniform_filter",
    "uniform_filter1d",
]  # fmt: skip
