"""Discrete Fourier transforms: ``jax.numpy.fft``.

All of them are one function: dimensions are cut or filled up with zeros, moved to the end, and transformed up
to three at a time; then the result is scaled. Integers and half precision are computed in float32.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
from rabbet_fft import FftType

from rabbet import dtypes, lax
from rabbet.errors import DTypeError, ShapeError
from rabbet.extend.functions import fused, public_module
from rabbet.extend.transform import typeof
from rabbet.numpy.creation.conversion import asarray, on_device
from rabbet.numpy.creation.new_arrays import default_float
from rabbet.numpy.elementwise.selection_and_rounding import conj
from rabbet.numpy.shapes.rearranging import roll
from rabbet.numpy.shapes.reshaping import array_of
from rabbet.numpy.support.arguments import axes_of, kind_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rabbet.typing import DTypeLike, Value

FFT, IFFT, RFFT, IRFFT = FftType
NORMS = ("backward", "ortho", "forward")
ONE = ("n", "axis", "norm")
MANY = ("s", "axes", "norm")


def transformed(
    name: str,
    fft_type: FftType,
    a: Value,
    s: tuple[int, ...] | None,
    axes: list[int] | tuple[int, ...] | None,
    norm: str | None,
) -> Value:
    """The transform of some type along axes.

    Args:
      name: of the calling function, for messages.
      fft_type: a ``FftType``.
      a: an array.
      s: the size of each transformed dimension (of the result, for ``IRFFT``), None: as it is.
      axes: which dimensions; None: the last ``len(s)``, or all.
      norm: which direction divides by the number of elements; None means ``"backward"``.
    """
    a = array_of(name, a)
    if norm is not None and norm not in NORMS:
        raise ValueError(f"{name}: norm must be None, 'backward', 'ortho' or 'forward', got {norm!r}")
    if fft_type is RFFT and kind_of(a) == "c":
        raise DTypeError(
            f"{name} takes real arrays, got {a.aval.str_short()}; use {name.replace('r', '', 1)}, or take "
            "its real part"
        )
    axes = axes_of(name, range_of(axes, s, a.ndim), a.ndim)
    sizes = sizes_of(name, fft_type, s, [a.shape[d] for d in axes])
    if not axes:
        return lax.fft(a, fft_type, ())
    kept = [*sizes[:-1], sizes[-1] // 2 + 1 if fft_type is IRFFT and sizes[-1] else sizes[-1]]
    a = fitted(a, dict(zip(axes, kept)))
    order = [*[d for d in range(a.ndim) if d not in axes], *axes]
    out = in_threes(lax.transpose(a, order), fft_type, sizes)
    out = lax.transpose(out, [order.index(d) for d in range(a.ndim)])
    scale = scale_of(norm, inverse=fft_type in (IFFT, IRFFT), size=prod(sizes))
    return out if scale == 1.0 else lax.mul(out, scale)


def range_of(
    axes: list[int] | tuple[int, ...] | None, s: tuple[int, ...] | None, ndim: int
) -> list[int] | tuple[int, ...] | None:
    """The axes meant: those given, else the last ones for which there are sizes, else all."""
    if axes is not None or s is None:
        return axes
    return tuple(range(-len(s), 0)) if len(s) <= ndim else tuple(range(len(s)))


def sizes_of(name: str, fft_type: Any, s: tuple[int, ...] | None, have: list[int]) -> Any:
    """The sizes of the transformed dimensions.

    Raises:
      ValueError: if there are not as many as axes, or one that is given is less than 1, or real numbers are
        none: their transform would have an element.
    """
    if s is None:
        sizes = have[:-1] + [max(2 * (n - 1), 0) if fft_type is IRFFT else n for n in have[-1:]]
        if fft_type is not RFFT or have[-1:] != [0]:
            return sizes
    elif len(s) != len(have):
        raise ValueError(f"{name}: {len(s)} sizes are given for {len(have)} axes")
    else:
        sizes = [operator.index(n) for n in s]
    if any(n < 1 for n in sizes):
        raise ValueError(f"{name}: a transform has at least one point, got sizes {tuple(sizes)}")
    return sizes


def fitted(a: Value, sizes: dict[Any, Any]) -> Value:
    """``a`` with dimensions cut, or filled up with zeros, to their sizes."""
    limits = [min(n, sizes.get(d, n)) for d, n in enumerate(a.shape)]
    a = a if tuple(limits) == a.shape else lax.slice(a, [0] * a.ndim, limits)
    more = [(0, sizes.get(d, n) - n, 0) for d, n in enumerate(a.shape)]
    return lax.pad(a, lax.full((), 0, a.dtype), more) if any(hi for _, hi, _ in more) else a


def in_threes(a: Value, fft_type: FftType, sizes: list[int]) -> Value:
    """Transform the last dimensions, up to three at a time; real ones are special in the last."""
    rest, last = sizes[:-3], sizes[-3:]
    if not rest:
        return lax.fft(a, fft_type, last)
    back = fft_type in (IFFT, IRFFT)
    if not back:
        a = lax.fft(a, fft_type, last)
    n = len(last)
    turned = [
        *range(a.ndim - len(sizes)),
        *range(a.ndim - n, a.ndim),
        *range(a.ndim - len(sizes), a.ndim - n),
    ]
    a = in_threes(lax.transpose(a, turned), IFFT if back else FFT, rest)
    a = lax.transpose(a, [turned.index(d) for d in range(a.ndim)])
    return lax.fft(a, fft_type, last) if back else a


def scale_of(norm: str | None, inverse: bool, size: int) -> float:
    """By what to multiply, given that the inverse transforms divide by ``size`` already."""
    if norm in (None, "backward") or not size:
        return 1.0
    if norm == "ortho":
        return size**0.5 if inverse else size**-0.5
    return float(size) if inverse else 1.0 / size


def turned_norm(norm: Any) -> Any:
    """The norm by which a transform is scaled as its inverse is by ``norm``."""
    return {None: "forward", "backward": "forward", "forward": "backward"}.get(norm, norm)


def size_of(n: int | None) -> tuple[int, ...] | None:
    """The sizes for one axis."""
    return None if n is None else (n,)


# ------------------------------------------------------------------------------------------ one dimension
@fused(static=ONE)
def fft(a: Value, n: int | None = None, axis: int = -1, norm: str | None = None) -> Value:
    """The discrete Fourier transform along an axis.

    Args:
      a: an array.
      n: how many points; the axis is cut or filled up with zeros. None: as many as there are.
      axis: an int.
      norm: which direction divides by ``n``: ``"backward"`` (None: the inverse), ``"forward"``, or
        ``"ortho"``: both by its root.

    Returns:
      an array: complex64, or complex128 for 64-bit ``a``.

    Raises:
      ValueError: for an axis out of range, ``n`` below 1, or an unknown norm.

    Example:
      >>> rnp.fft.fft(rnp.array([1.0, 0.0, 0.0, 0.0]))
      Array([1.+0.j, 1.+0.j, 1.+0.j, 1.+0.j], dtype=complex64)
    """
    return transformed("fft", FFT, a, size_of(n), (axis,), norm)


@fused(static=ONE)
def ifft(a: Value, n: int | None = None, axis: int = -1, norm: str | None = None) -> Value:
    """The inverse of ``fft``. Arguments as there.

    Example:
      >>> rnp.fft.ifft(rnp.fft.fft(rnp.arange(3.0))).real
      Array([0., 1., 2.], dtype=float32)
    """
    return transformed("ifft", IFFT, a, size_of(n), (axis,), norm)


@fused(static=ONE)
def rfft(a: Value, n: int | None = None, axis: int = -1, norm: str | None = None) -> Value:
    """The first ``n // 2 + 1`` numbers of ``fft`` of a real array: the others are their conjugates.

    Example:
      >>> rnp.fft.rfft(rnp.ones(6)).shape
      (4,)
    """
    return transformed("rfft", RFFT, a, size_of(n), (axis,), norm)


@fused(static=ONE)
def irfft(a: Value, n: int | None = None, axis: int = -1, norm: str | None = None) -> Value:
    """The inverse of ``rfft``; ``n`` points, by default the even number ``2 (m - 1)`` for ``m`` numbers.

    Example:
      >>> rnp.fft.irfft(rnp.fft.rfft(rnp.arange(4.0)))
      Array([0., 1., 2., 3.], dtype=float32)
    """
    return transformed("irfft", IRFFT, a, size_of(n), (axis,), norm)


@fused(static=ONE)
def hfft(a: Value, n: int | None = None, axis: int = -1, norm: str | None = None) -> Value:
    """``fft`` of a signal whose second half is the conjugate of the first, which is given: real numbers.

    Example:
      >>> rnp.fft.hfft(rnp.array([1.0, 0.0, 0.0]))
      Array([1., 1., 1., 1.], dtype=float32)
    """
    a = array_of("hfft", a)
    return transformed("hfft", IRFFT, conj(a), size_of(n), (axis,), turned_norm(norm))


@fused(static=ONE)
def ihfft(a: Value, n: int | None = None, axis: int = -1, norm: str | None = None) -> Value:
    """The inverse of ``hfft``: half of a signal, from real numbers.

    Example:
      >>> rnp.fft.ihfft(rnp.ones(4)).real
      Array([1., 0., 0.], dtype=float32)
    """
    return lax.conj(transformed("ihfft", RFFT, a, size_of(n), (axis,), turned_norm(norm)))


# ------------------------------------------------------------------------------------- several dimensions
@fused(static=MANY)
def fftn(
    a: Value,
    s: int | Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: str | None = None,
) -> Value:
    """The discrete Fourier transform along several axes.

    Args:
      a: an array.
      s: how many points along each axis. None: as many as there are.
      axes: ints; None: the last ``len(s)``, or all.
      norm: as for ``fft``.

    Raises:
      ValueError: for axes out of range or named twice, sizes that do not fit them, or an unknown norm.

    Example:
      >>> rnp.fft.fftn(rnp.ones((2, 2, 2))).sum().real
      Array(8., dtype=float32)
    """
    return transformed("fftn", FFT, a, s, axes, norm)


@fused(static=MANY)
def ifftn(
    a: Value, s: int | Sequence[int] | None = None, axes: Sequence[int] | None = None, norm: str | None = None
) -> Value:
    """The inverse of ``fftn``. Arguments as there.

    Example:
      >>> rnp.fft.ifftn(rnp.fft.fftn(rnp.ones((2, 2)))).real
      Array([[1., 1.],
             [1., 1.]], dtype=float32)
    """
    return transformed("ifftn", IFFT, a, s, axes, norm)


@fused(static=MANY)
def rfftn(
    a: Value, s: int | Sequence[int] | None = None, axes: Sequence[int] | None = None, norm: str | None = None
) -> Value:
    """``fftn`` of a real array; of the last axis only the first half, as in ``rfft``.

    Example:
      >>> rnp.fft.rfftn(rnp.ones((2, 4, 6))).shape
      (2, 4, 4)
    """
    return transformed("rfftn", RFFT, a, s, axes, norm)


@fused(static=MANY)
def irfftn(
    a: Value, s: int | Sequence[int] | None = None, axes: Sequence[int] | None = None, norm: str | None = None
) -> Value:
    """The inverse of ``rfftn``; the last axis gets an even number of points unless ``s`` says otherwise.

    Example:
      >>> rnp.fft.irfftn(rnp.fft.rfftn(rnp.ones((2, 2))))
      Array([[1., 1.],
             [1., 1.]], dtype=float32)
    """
    return transformed("irfftn", IRFFT, a, s, axes, norm)


def plane(name: str, axes: tuple[int, ...]) -> tuple[int, ...]:
    """Two axes."""
    if axes is None or len(axes) != 2:
        raise ValueError(f"{name} goes over two axes, got {axes!r}; use {name[:-1]}n")
    return axes


@fused(static=MANY)
def fft2(
    a: Value, s: int | Sequence[int] | None = None, axes: Sequence[int] = (-2, -1), norm: str | None = None
) -> Value:
    """``fftn`` along two axes.

    Example:
      >>> rnp.fft.fft2(rnp.ones((2, 2))).real
      Array([[4., 0.],
             [0., 0.]], dtype=float32)
    """
    return transformed("fft2", FFT, a, s, plane("fft2", axes), norm)


@fused(static=MANY)
def ifft2(
    a: Value, s: int | Sequence[int] | None = None, axes: Sequence[int] = (-2, -1), norm: str | None = None
) -> Value:
    """``ifftn`` along two axes.

    Example:
      >>> rnp.fft.ifft2(rnp.fft.fft2(rnp.ones((2, 2)))).real
      Array([[1., 1.],
             [1., 1.]], dtype=float32)
    """
    return transformed("ifft2", IFFT, a, s, plane("ifft2", axes), norm)


@fused(static=MANY)
def rfft2(
    a: Value, s: int | Sequence[int] | None = None, axes: Sequence[int] = (-2, -1), norm: str | None = None
) -> Value:
    """``rfftn`` along two axes.

    Example:
      >>> rnp.fft.rfft2(rnp.ones((4, 6))).shape
      (4, 4)
    """
    return transformed("rfft2", RFFT, a, s, plane("rfft2", axes), norm)


@fused(static=MANY)
def irfft2(
    a: Value, s: int | Sequence[int] | None = None, axes: Sequence[int] = (-2, -1), norm: str | None = None
) -> Value:
    """``irfftn`` along two axes.

    Example:
      >>> rnp.fft.irfft2(rnp.fft.rfft2(rnp.ones((2, 2))))
      Array([[1., 1.],
             [1., 1.]], dtype=float32)
    """
    return transformed("irfft2", IRFFT, a, s, plane("irfft2", axes), norm)


# ------------------------------------------------------------------------------------------- frequencies
def frequencies(name: str, n: int, d: float, dtype: Any, numbers: Callable[..., Any]) -> Value:
    """Whole numbers over ``n d``."""
    try:
        n = operator.index(n)
    except TypeError:
        raise ShapeError(f"{name}: n must be an int, got {n!r}") from None
    if n < 1:
        raise ValueError(f"{name}: n must be at least 1, got {n}")
    dtype = default_float() if dtype is None else dtypes.canonicalize(dtype)
    if dtypes.kind(dtype) not in "fc":
        raise DTypeError(f"{name}: dtype must be a float dtype, got {dtype.name}")
    whole = asarray(numbers(n), dtype)
    return lax.div(whole, lax.mul(lax.convert_element_type(d, dtype), float(n)))


def fftfreq(n: int, d: Value = 1.0, *, dtype: DTypeLike | None = None, device: Any = None) -> Value:
    """The frequencies of the numbers that ``fft`` returns, for samples that are ``d`` apart.

    Args:
      n: an int, how many points.
      d: the distance of samples.
      dtype: a float dtype, float32 by default.

    Example:
      >>> rnp.fft.fftfreq(4, d=0.5)
      Array([ 0. ,  0.5, -1. , -0.5], dtype=float32)
    """
    return on_device(frequencies("fftfreq", n, d, dtype, lambda n: np.fft.fftfreq(n, 1.0 / n)), device)


def rfftfreq(n: int, d: Value = 1.0, *, dtype: DTypeLike | None = None, device: Any = None) -> Value:
    """The frequencies of the numbers that ``rfft`` returns. Arguments as for ``fftfreq``.

    Example:
      >>> rnp.fft.rfftfreq(4, d=0.5)
      Array([0. , 0.5, 1. ], dtype=float32)
    """
    return on_device(frequencies("rfftfreq", n, d, dtype, lambda n: np.fft.rfftfreq(n, 1.0 / n)), device)


@fused(static=("axes",))
def fftshift(x: Value, axes: Any = None) -> Value:
    """``x`` with the frequency zero moved from the beginning to the middle of axes (None: of all).

    Example:
      >>> rnp.fft.fftshift(rnp.fft.fftfreq(4))
      Array([-0.5 , -0.25,  0.  ,  0.25], dtype=float32)
    """
    return shifted("fftshift", x, axes, lambda n: n // 2)


@fused(static=("axes",))
def ifftshift(x: Value, axes: Any = None) -> Value:
    """The inverse of ``fftshift``.

    Example:
      >>> rnp.fft.ifftshift(rnp.fft.fftshift(rnp.arange(4)))
      Array([0, 1, 2, 3], dtype=int32)
    """
    return shifted("ifftshift", x, axes, lambda n: -(n // 2))


def shifted(name: str, x: Value, axes: int | Sequence[int] | None, places: Callable[..., Any]) -> Value:
    """``x`` rolled along axes."""
    x = array_of(name, x)
    axes = axes_of(name, axes, x.ndim)
    return roll(x, tuple([places(typeof(x).shape[d]) for d in axes]), axes)


__all__ = [
    "fft", "fft2", "fftfreq", "fftn", "fftshift", "hfft", "ifft", "ifft2", "ifftn", "ifftshift", "ihfft",
    "irfft", "irfft2", "irfftn", "rfft", "rfft2", "rfftfreq", "rfftn",
]  # fmt: skip

public_module(globals())
