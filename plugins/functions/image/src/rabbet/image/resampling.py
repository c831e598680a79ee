"""Resampling along one dimension after the other, each a product with a matrix of weights.

A value is taken where the middle of its pixel lies in the source; ``antialias`` widens the kernel to the size
of a result pixel, so that none of the source is left out.
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING

import numpy as np

import rabbet.numpy as rnp
from rabbet import dtypes, lax
from rabbet.extend.functions import fused
from rabbet.extend.shapes import flag
from rabbet.extend.transform import typeof
from rabbet.image.kernels import KERNELS, ResizeMethod, cubic, method_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from rabbet.typing import Value


def weights(size, count, scale, translation, method, antialias, dtype):
    """The weight of each of ``size`` source pixels in each of ``count`` result pixels: a matrix."""
    scale, translation = lax.convert_element_type(scale, dtype), lax.convert_element_type(translation, dtype)
    step = 1.0 / scale
    results = lax.iota(dtype, count)
    places = (results + 0.5) * step - translation * step - 0.5
    if method is ResizeMethod.AREA:
        return covered(size, places, step)
    if method is ResizeMethod.CUBIC_PYTORCH and not antialias:
        return cubic_to_the_edge(size, places, dtype)
    width = rnp.maximum(step, 1.0) if antialias else 1.0
    distances = (places[None, :] - lax.iota(dtype, size)[:, None]) / width
    return normalized(KERNELS[method](distances), inside(places, size))


def inside(places, size):
    """Whether a place lies in the source."""
    return rnp.logical_and(places >= -0.5, places <= size - 0.5)


def normalized(matrix, where):
    """Weights that add up to 1 for each result, or are 0 outside of the source."""
    total = matrix.sum(0, keepdims=True)
    least = 1000.0 * float(dtypes.finfo(matrix.dtype).eps)
    matrix = rnp.where(rnp.abs(total) > least, matrix / rnp.where(total != 0, total, 1), 0)
    return matrix if where is True else rnp.where(where[None, :], matrix, 0)


def covered(size, places, step):
    """Area: how much of each source pixel a result pixel covers."""
    begin = places + 0.5 - step / 2
    first, last = rnp.clip(begin, 0, size), rnp.clip(begin + step, 0, size)
    pixels = lax.iota(places.dtype, size)[:, None]
    overlap = rnp.minimum(last, pixels + 1) - rnp.maximum(first, pixels)
    return normalized(rnp.maximum(overlap, 0), inside(places, size))


def cubic_to_the_edge(size, places, dtype):
    """Cubic weights of the four neighbours. Those at both edges count twice more, as if they went on."""
    base = rnp.floor(places)
    matrix = rnp.zeros((size, places.shape[0]), dtype)
    pixels = lax.iota(dtype, size)[:, None]
    for offset in (-1, 0, 1, 2):
        at = base + offset
        there = rnp.logical_and(at >= -2, at <= size + 1)
        weight = rnp.where(there, cubic(places - at, -0.75), 0)
        matrix = matrix + rnp.where(rnp.clip(at, 0, size - 1) == pixels, weight, 0)
    return normalized(matrix, True)


def along(image, matrix, axis, precision):
    """The image with one dimension multiplied by a matrix of weights."""
    out = lax.dot_general(image, matrix, (((axis,), (0,)), ((), ())), precision)
    rank = typeof(image).ndim
    order = [*range(axis), rank - 1, *range(axis, rank - 1)]
    return lax.transpose(out, tuple(order))


def prepared(who, image, shape):
    """The image as an array, and the shape as ints."""
    image = rnp.asarray(image) if not hasattr(image, "aval") else image
    shape = tuple([operator.index(n) for n in shape])
    if len(shape) != image.ndim:
        raise ValueError(
            f"{who}: shape must have as many dimensions as the image, batches and channels included; got "
            f"{shape} for {image.aval.str_short()}"
        )
    if any(n < 0 for n in shape):
        raise ValueError(f"{who}: a dimension cannot be negative, got the shape {shape}")
    return image, shape


def in_floats(image):
    """The image in a float dtype."""
    dtype = dtypes.to_inexact(image.dtype)
    return image if image.dtype == dtype and not image.weak_type else lax.convert_element_type(image, dtype)


def scale_and_translate(
    image: Any,
    shape: Sequence[int],
    spatial_dims: Sequence[int],
    scale: Value,
    translation: Any,
    method: Any,
    antialias: bool = True,
    precision: Any = lax.Precision.HIGHEST,
) -> Value:
    """An image that is stretched and moved: what was at ``x`` comes to ``x * scale + translation``.

    Positions count from the edge, so that the middle of pixel i is at i + 1/2. What comes from outside of the
    image is 0.

    Args:
      image: an array of any number of dimensions.
      shape: the shape of the result, with as many.
      spatial_dims: the dimensions to resample, ints.
      scale, translation: vectors with a number for each of them. The result has derivatives by both.
      method: a ``ResizeMethod`` or its name, any but ``"nearest"``.
      antialias: widen the kernel where the image is made smaller.
      precision: of the products, see ``lax.Precision``.

    Returns:
      an array of a float dtype.

    Raises:
      ValueError: for an unknown method, for ``"nearest"``, which has no weights, and for arguments that do
        not fit together.

    Example:
      >>> image = rnp.array([[1.0, 2.0, 3.0]])
      >>> one = rnp.ones(1)
      >>> rb.image.scale_and_translate(image, (1, 3), (1,), one, one, 'linear')
      Array([[0., 1., 2.]], dtype=float32)
    """
    image, shape = prepared("scale_and_translate", image, shape)
    method = method_of(method)
    if method is ResizeMethod.NEAREST:
        raise ValueError("scale_and_translate: 'nearest' has no weights; use another method, or resize")
    dims = tuple([operator.index(d) for d in spatial_dims])
    if any(not -image.ndim <= d < image.ndim for d in dims):
        raise ValueError(f"scale_and_translate: spatial_dims {dims} of {image.aval.str_short()}")
    dims = tuple([d % image.ndim for d in dims])
    fixed = [d for d in range(image.ndim) if d not in dims and shape[d] != image.shape[d]]
    if fixed:
        raise ValueError(
            f"scale_and_translate: shape {shape} changes dimension {fixed[0]} of {image.aval.str_short()}, "
            "which is not among spatial_dims"
        )
    scale, translation = (x if hasattr(x, "aval") else rnp.asarray(x) for x in (scale, translation))
    for name, x in (("scale", scale), ("translation", translation)):
        if x.shape != (len(dims),):
            raise ValueError(
                f"scale_and_translate: {name} must be a vector of {len(dims)}, got {x.aval.str_short()}"
            )
    wide = flag("scale_and_translate", "antialias", antialias)
    return resampled(image, scale, translation, shape, dims, method, wide, precision)


@fused(static=("shape", "dims", "method", "antialias", "precision"))
def resampled(image, scale, translation, shape, dims, method, antialias, precision):
    """One product for each dimension. Places and weights of fewer than 32 bits would be none: bfloat16 has no
    257th pixel, and a weight is as large as its error.
    """
    image = in_floats(image)
    real = np.dtype(f"float{4 * image.dtype.itemsize}") if dtypes.kind(image.dtype) == "c" else image.dtype
    real = dtypes.promote_types(real, np.dtype("float32"))
    for i, d in enumerate(dims):
        matrix = weights(image.shape[d], shape[d], scale[i], translation[i], method, antialias, real)
        image = along(image, lax.convert_element_type(matrix, image.dtype), d, precision)
    return image


@fused(static=("shape",))
def nearest(image, shape):
    """Each pixel from the one of the source in which its middle lies."""
    for d, (size, count) in enumerate(zip(image.shape, shape, strict=True)):
        if size != count:
            at = np.floor((np.arange(count) + 0.5) * size / count).astype("int32")
            image = image[(slice(None),) * d + (at,)]
    return image


def resize(
    image: Any,
    shape: Sequence[int],
    method: Any,
    antialias: bool = True,
    precision: Any = lax.Precision.HIGHEST,
) -> Value:
    """An image in another size.

    Args:
      image: an array of any number of dimensions.
      shape: the shape of the result, with as many; dimensions that keep their size, such as those of batches
        and channels, are left alone.
      method: a ``ResizeMethod`` or its name. ``"nearest"`` takes the nearest pixel, ``"linear"`` (also
        ``"bilinear"``, ``"trilinear"``, ``"triangle"``) interpolates linearly, ``"cubic"`` (``"bicubic"``,
        ``"tricubic"``) by Keys' kernel, ``"cubic-pytorch"`` (``"bicubic-pytorch"``) without antialiasing as
        PyTorch does, ``"lanczos3"`` and ``"lanczos5"`` by windowed sincs, ``"area"`` averages what a pixel
        covers.
      antialias: widen the kernel where the image is made smaller.
      precision: of the products, see ``lax.Precision``.

    Returns:
      an array of a float dtype; for ``"nearest"`` of that of the image.

    Raises:
      ValueError: for an unknown method, a shape with another number of dimensions.

    Example:
      >>> resize(rnp.ones((2, 8, 8, 3)), (2, 4, 16, 3), "linear").shape
      (2, 4, 16, 3)
    """
    image, shape = prepared("resize", image, shape)
    method = method_of(method)
    if method is ResizeMethod.NEAREST:
        return nearest(image, shape)
    dims = tuple([d for d, (n, m) in enumerate(zip(image.shape, shape, strict=True)) if n != m])
    scale = np.array([shape[d] / image.shape[d] if image.shape[d] else 1 for d in dims], "float32")
    return resampled(
        image,
        rnp.asarray(scale),
        rnp.zeros(len(dims), "float32"),
        shape,
        dims,
        method,
        flag("resize", "antialias", antialias),
        precision,
    )


__all__ = ["resize", "scale_and_translate"]
