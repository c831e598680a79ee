"""Discrete cosine transforms: ``jax.scipy.fft``, and all four types of SciPy's."""

import operator
from collections.abc import Sequence

import numpy as np

import rabbet.numpy as rnp
from rabbet import Array, dtypes, lax
from rabbet.extend.functions import fused, public_module
from rabbet.scipy.inputs import array, axis_of, complex_dtype, is_complex, one_of

NORMS = (None, "backward", "ortho", "forward")
INVERSE = {1: 1, 2: 3, 3: 2, 4: 4}


def _transformed(name, x, type, sizes, axes, norm, inverse):
    """``x`` transformed along ``axes``, one after the other."""
    one_of(name, "type", type, (1, 2, 3, 4))
    one_of(name, "norm", norm, NORMS)
    x = array(name, x)
    x = rnp.asarray(x, dtypes.to_inexact(x.dtype))
    if is_complex(x):
        parts = [_transformed(name, part, type, sizes, axes, norm, inverse) for part in (x.real, x.imag)]
        return lax.complex(*parts)
    dtype = x.dtype
    wide = dtype if dtype.name == "float64" else np.dtype("float32")
    x = rnp.asarray(x, wide)
    for axis, n in zip(axes, sizes, strict=True):
        x = rnp.moveaxis(_fitted(name, x, axis, n), axis, -1)
        x = rnp.moveaxis(_last_axis(name, x, INVERSE[type] if inverse else type, norm, inverse), -1, axis)
    return rnp.asarray(x, dtype)


def _fitted(name, x, axis, n):
    """``x`` with an axis cut, or filled up with zeros, to ``n`` elements."""
    have = x.shape[axis]
    n = have if n is None else operator.index(n)
    if n < 1:
        raise ValueError(f"{name}: a transform has at least one point, got {n}")
    if n < have:
        return lax.slice_in_dim(x, 0, n, axis=axis)
    return rnp.pad(x, [(0, n - have if d == axis else 0) for d in range(x.ndim)]) if n > have else x


def _last_axis(name, x, type, norm, inverse):
    """One transform along the last axis, scaled."""
    n = x.shape[-1]
    if type == 1 and n < 2:
        raise ValueError(f"{name}: type 1 needs at least 2 points, got {n}")
    ortho = norm == "ortho"
    period = 2 * (n - 1) if type == 1 else 2 * n
    if ortho and type in (1, 3):
        x = x * _ends(x, type, 2**0.5)
    y = (_type1, _type2, _type3, _type4)[type - 1](x)
    if ortho and type in (1, 2):
        y = y * _ends(y, type, 2**-0.5)
    if ortho:
        return y * period**-0.5
    divided = inverse if norm in (None, "backward") else not inverse
    return y * (1.0 / period) if divided else y


def _ends(x, type, factor):
    """Ones with a factor for the first number, and for type 1 for the last too."""
    scale = np.ones(x.shape[-1], x.dtype)
    scale[[0, -1] if type == 1 else [0]] = factor
    return scale


def _turns(n, dtype, numbers):
    """``exp(-i pi numbers)``."""
    return np.exp(-1j * np.pi * np.asarray(numbers, "float64")).astype(complex_dtype(dtype))


def _type1(x):
    """The real FFT of the numbers and their mirror image."""
    return rnp.fft.rfft(rnp.concatenate([x, x[..., -2:0:-1]], -1)).real


def _type2(x):
    """By a real FFT of as many points: even places forwards, then odd ones backwards (J. Makhoul, A fast
    cosine transform in one and two dimensions, 1980).
    """
    n = x.shape[-1]
    half = rnp.fft.rfft(rnp.concatenate([x[..., ::2], x[..., 1::2][..., ::-1]], -1))
    turned = half * _turns(n, x.dtype, np.arange(n // 2 + 1) / (2 * n))
    back = turned.imag[..., 1 : (n + 1) // 2]
    return 2.0 * rnp.concatenate([turned.real, -back[..., ::-1]], -1)


def _type3(x):
    """The steps of type 2 backwards."""
    n = x.shape[-1]
    if n == 1:
        return x
    m = n // 2 + 1
    mirrored = rnp.concatenate([rnp.zeros_like(x[..., :1]), x[..., : n - m : -1]], -1)
    half = lax.complex(x[..., :m], -mirrored[..., :m]) * np.conj(_turns(n, x.dtype, np.arange(m) / (2 * n)))
    y = rnp.fft.irfft(half, n) * float(n)
    even = (n + 1) // 2
    woven = rnp.zeros_like(y).at[..., ::2].set(y[..., :even])
    return woven.at[..., 1::2].set(y[..., even:][..., ::-1])


def _type4(x):
    """By an FFT of twice as many points."""
    n = x.shape[-1]
    turned = x * _turns(n, x.dtype, np.arange(n) / (2 * n))
    y = rnp.fft.fft(turned, 2 * n)[..., :n] * _turns(n, x.dtype, (2 * np.arange(n) + 1) / (4 * n))
    return 2.0 * y.real


def _one(name, x, type, n, axis, norm, inverse):
    axis = axis_of(name, axis, array(name, x).ndim)
    return _transformed(name, x, type, (n,), (axis,), norm, inverse)


def _several(name, x, type, s, axes, norm, inverse):
    ndim = array(name, x).ndim
    sizes = None if s is None else [s] if not hasattr(s, "__len__") else list(s)
    if axes is None:
        axes = range(ndim) if sizes is None else range(ndim - len(sizes), ndim)
    elif not hasattr(axes, "__len__"):
        axes = (axes,)
    axes = [axis_of(name, a, ndim) for a in axes]
    if len(set(axes)) != len(axes):
        raise ValueError(f"{name}: axes name one twice: {tuple(axes)}")
    sizes = [None] * len(axes) if sizes is None else sizes
    if len(sizes) != len(axes):
        raise ValueError(f"{name}: {len(sizes)} sizes are given for {len(axes)} axes")
    return _transformed(name, x, type, sizes, axes, norm, inverse)


ONE = ("type", "n", "axis", "norm")
MANY = ("type", "s", "axes", "norm")


@fused(static=ONE)
def dct(x: Array, type: int = 2, n: int | None = None, axis: int = -1, norm: str | None = None) -> Array:
    """The discrete cosine transform along an axis.

    Args:
      x: an array; of complex numbers both parts are transformed.
      type: 1, 2, 3 or 4.
      n: how many points; the axis is cut or filled up with zeros. None: as many as there are.
      axis: an int.
      norm: which direction is divided by ``2 n`` (for type 1 by ``2 (n - 1)``): ``"backward"`` (None: the
        inverse), ``"forward"``, or ``"ortho"``: both by its root, and the ends scaled so that the transform
        is orthogonal.

    Returns:
      an array of the shape of ``x`` but for ``n``, and of its dtype (integers become floats).

    Raises:
      ValueError: for an unknown type or norm, an axis out of range or ``n`` below 1.

    Example:
      >>> print(np.asarray(dct(rnp.array([1.0, 2.0, 3.0]))).round(3) + 0.0)
      [12.    -3.464  0.   ]
    """
    return _one("dct", x, type, n, axis, norm, inverse=False)


@fused(static=ONE)
def idct(x: Array, type: int = 2, n: int | None = None, axis: int = -1, norm: str | None = None) -> Array:
    """The inverse of ``dct`` of the same type and norm. Arguments as there.

    Example:
      >>> print(np.asarray(idct(dct(rnp.array([1.0, 2.0, 3.0])))).round(3) + 0.0)
      [1. 2. 3.]
    """
    return _one("idct", x, type, n, axis, norm, inverse=True)


@fused(static=MANY)
def dctn(
    x: Array,
    type: int = 2,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: str | None = None,
) -> Array:
    """The discrete cosine transform along several axes.

    Args:
      x: an array.
      type: 1, 2, 3 or 4.
      s: how many points along each axis. None: as many as there are.
      axes: ints; None: the last ``len(s)``, or all.
      norm: as for ``dct``.

    Raises:
      ValueError: for axes out of range or named twice, or sizes that do not fit them.

    Example:
      >>> print(np.asarray(dctn(rnp.ones((2, 2)), norm="ortho")).round(3) + 0.0)
      [[2. 0.]
       [0. 0.]]
    """
    return _several("dctn", x, type, s, axes, norm, inverse=False)


@fused(static=MANY)
def idctn(
    x: Array,
    type: int = 2,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: str | None = None,
) -> Array:
    """The inverse of ``dctn`` of the same type and norm. Arguments as there.

    Example:
      >>> print(np.asarray(idctn(dctn(rnp.ones((2, 2))))).round(3) + 0.0)
      [[1. 1.]
       [1. 1.]]
    """
    return _several("idctn", x, type, s, axes, norm, inverse=True)


__all__ = ["dct", "dctn", "idct", "idctn"]

public_module(globals())
