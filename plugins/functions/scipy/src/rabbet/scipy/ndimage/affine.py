"""Images that are moved, turned and scaled: ``map_coordinates`` at linear functions of the point."""

import math
from typing import Any

import numpy as np

import rabbet.numpy as rnp
from rabbet import Array, dtypes, lax
from rabbet.extend.rules import axis_in_range
from rabbet.scipy.inputs import array
from rabbet.scipy.ndimage.boundary_modes import over_axes
from rabbet.scipy.ndimage.coordinates import map_coordinates


def _asked(name, output, prefilter, order):
    if output is not None:
        raise TypeError(f"{name}: output must be None: arrays are not written to, and the dtype is input's")
    if not prefilter and order > 1:
        raise NotImplementedError(f"{name}: prefilter must be True; the image is filtered for its spline")


def affine_transform(
    input: Array, matrix: Array, offset: Any = 0.0, output_shape: Any = None, output: Any = None,
    order: int = 3, mode: str = "constant", cval: float = 0.0, prefilter: bool = True,
) -> Array:  # fmt: skip
    """The image at ``matrix @ point + offset`` for every point of the result.

    Args:
      input: an array of ``n`` dimensions.
      matrix: of shape ``(n, n)``; ``(n,)``: a diagonal one; ``(n, n + 1)`` or ``(n + 1, n + 1)``: the last
        column is the offset.
      offset: a number, or one for each axis.
      output_shape: of the result; None: that of ``input``.
      order, mode, cval: of the spline, as for ``map_coordinates``.

    Returns:
      an array of the dtype of ``input``; differentiable by the image, the matrix and the offset.

    Raises:
      ValueError: for a matrix of another shape.

    Example:
      >>> print(affine_transform(rnp.arange(4.0), rnp.array([1.0]), 0.5, order=1, mode="nearest"))
      [0.5 1.5 2.5 3. ]
    """
    name = "affine_transform"
    input, matrix = array(name, input), rnp.asarray(matrix)
    _asked(name, output, prefilter, order)
    n = input.ndim
    if matrix.shape in ((n, n + 1), (n + 1, n + 1)) and n:
        matrix, offset = matrix[:n, :n], matrix[:n, n]
    elif matrix.shape == (n,):
        matrix = rnp.diag(matrix)
    elif matrix.shape != (n, n):
        raise ValueError(f"{name}: matrix must have the shape {(n, n)}, got {matrix.shape}")
    shape = input.shape if output_shape is None else tuple(output_shape)
    if len(shape) != n:
        raise ValueError(f"{name}: output_shape must have {n} dimensions, got {shape}")
    dtype = _place_dtype(input, matrix, offset)
    matrix = rnp.asarray(matrix, dtype)
    offset = rnp.broadcast_to(rnp.asarray(offset, dtype), (n,))
    axes = [rnp.asarray(np.arange(k), dtype) for k in shape]
    points = rnp.stack(rnp.meshgrid(*axes, indexing="ij"))
    places = rnp.tensordot(matrix, points, 1, precision=lax.Precision.HIGHEST)
    return map_coordinates(input, places + offset.reshape(n, *[1] * n), order, mode, cval)


def _place_dtype(input, *values):
    """The dtype of coordinates: that of what they are made of, and as wide as the image's."""
    wide = input.real.dtype if dtypes.kind(input.dtype) in "fc" else None
    dtype = dtypes.to_inexact(dtypes.result_type(*values, 1.0))
    return dtype if wide is None else dtypes.promote_types(dtype, wide)


def _along_axes(input, factors, offsets, shape, order, mode, cval):
    """The image at ``factor * point + offset`` along each axis."""
    dtype = _place_dtype(input, *factors, *offsets)
    places = [
        rnp.asarray(np.arange(n), dtype) * factor + offset
        for n, factor, offset in zip(shape, factors, offsets, strict=True)
    ]
    return map_coordinates(input, rnp.meshgrid(*places, indexing="ij"), order, mode, cval)


def shift(
    input: Array, shift: Any, output: Any = None, order: int = 3, mode: str = "constant", cval: float = 0.0,
    prefilter: bool = True,
) -> Array:  # fmt: skip
    """The image moved by ``shift`` points, a number or one for each axis. See ``affine_transform``.

    Example:
      >>> print(shift(rnp.arange(4.0), 0.5, order=1, mode="nearest"))
      [0.  0.5 1.5 2.5]
    """
    input = array("shift", input)
    _asked("shift", output, prefilter, order)
    by = over_axes("shift", "shift", shift, input.ndim)
    return _along_axes(input, [1.0] * input.ndim, [-s for s in by], input.shape, order, mode, cval)


def zoom(
    input: Array, zoom: Any, output: Any = None, order: int = 3, mode: str = "constant", cval: float = 0.0,
    prefilter: bool = True, *, grid_mode: bool = False,
) -> Array:  # fmt: skip
    """The image with ``zoom`` times as many points, a number or one for each axis. See ``affine_transform``.

    Args:
      zoom: Python numbers: they decide the shape.
      grid_mode: whether the points are the centres of boxes, whose edges stay; else the first and the last
        point stay.

    Example:
      >>> print(zoom(rnp.array([0.0, 2.0]), 1.5, order=1))
      [0. 1. 2.]
    """
    input = array("zoom", input)
    _asked("zoom", output, prefilter, order)
    by = [float(z) for z in over_axes("zoom", "zoom", zoom, input.ndim)]
    shape = [round(n * z) for n, z in zip(input.shape, by, strict=True)]
    if grid_mode:
        factors = [n / max(m, 1) for n, m in zip(input.shape, shape, strict=True)]
        offsets = [0.5 * f - 0.5 for f in factors]
    else:
        factors = [(n - 1) / (m - 1) if m > 1 else 1.0 for n, m in zip(input.shape, shape, strict=True)]
        offsets = [0.0] * input.ndim
    return _along_axes(input, factors, offsets, shape, order, mode, cval)


def rotate(
    input: Array, angle: float, axes: tuple[int, int] = (1, 0), reshape: bool = True, output: Any = None,
    order: int = 3, mode: str = "constant", cval: float = 0.0, prefilter: bool = True,
) -> Array:  # fmt: skip
    """The image turned about its centre, in the plane of two axes. See ``affine_transform``.

    Args:
      angle: in degrees. It decides the shape, so it is a Python number, unless ``reshape`` is False: then it
        may be traced and differentiated.
      axes: the two axes of the plane.
      reshape: whether the result is as large as the whole turned image.

    Raises:
      ValueError: for axes that are not two different ones.

    Example:
      >>> print(rotate(rnp.array([[0.0, 1.0], [2.0, 3.0]]), 90, order=1).round())
      [[1. 3.]
       [0. 2.]]
    """
    input = array("rotate", input)
    _asked("rotate", output, prefilter, order)
    if len(axes) != 2:
        raise ValueError(f"rotate: axes must be two numbers, got {axes}")
    first, second = sorted(axis_in_range("rotate", a, input.ndim) for a in axes)
    if first == second:
        raise ValueError(f"rotate: the two axes must differ, got {axes}")
    if reshape:
        turn = math.radians(float(angle))
        cos, sin = _exact(math.cos(turn)), _exact(math.sin(turn))
    else:
        turn = rnp.asarray(angle, _place_dtype(input, angle)) * (math.pi / 180)
        cos, sin = rnp.cos(turn), rnp.sin(turn)
    size = [input.shape[first], input.shape[second]]
    shape = size
    if reshape:
        h, w = size
        shape = [int(abs(cos) * h + abs(sin) * w + 0.5), int(abs(sin) * h + abs(cos) * w + 0.5)]
    # The centre of the result goes to the centre of the image.
    a, b = [(n - 1) / 2 for n in shape]
    c, d = [(n - 1) / 2 for n in size]
    points = [np.arange(n) for n in input.shape]
    points[first], points[second] = np.arange(shape[0]), np.arange(shape[1])
    dtype = _place_dtype(input, cos)
    grid = list(rnp.meshgrid(*[rnp.asarray(p, dtype) for p in points], indexing="ij"))
    u, v = grid[first] - a, grid[second] - b
    grid[first], grid[second] = cos * u + sin * v + c, -sin * u + cos * v + d
    return map_coordinates(input, grid, order, mode, cval)


def _exact(x):
    """A cosine or sine of whole quarter turns without what rounding adds."""
    return float(round(x)) if abs(x - round(x)) < 1e-15 else x


__all__ = ["affine_transform", "rotate", "shift", "zoom"]
