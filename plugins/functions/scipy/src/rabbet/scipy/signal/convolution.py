"""Convolution and correlation in any number of dimensions."""

from collections.abc import Iterable, Sequence
from typing import Any

import rabbet.numpy as rnp
from rabbet import Array, lax
from rabbet.extend.functions import fused
from rabbet.scipy.inputs import axis_of, inexact, is_complex, one_of

MODES = ("full", "same", "valid")
METHODS = ("auto", "direct", "fft")
BOUNDARIES = {"fill": "constant", "wrap": "wrap", "symm": "symmetric"}


def pair(name, in1, in2):
    """Two arrays in one dtype and with equally many dimensions.

    Raises:
      ValueError: for arrays without elements, or with different numbers of dimensions.
    """
    a, b = inexact(name, in1, in2, weak=True)
    if a.ndim != b.ndim:
        raise ValueError(
            f"{name}: in1 and in2 must have equally many dimensions, got {a.shape} and {b.shape}"
        )
    if not a.size or not b.size:
        raise ValueError(f"{name} takes arrays with at least one element, got {a.shape} and {b.shape}")
    return a, b


def turned(x):
    """An array backwards, and conjugated: what correlation convolves with."""
    x = rnp.flip(x)
    return rnp.conj(x) if is_complex(x) else x


def larger_first(name, a, b, axes=None):
    """The two arrays, the larger one first, as ``mode="valid"`` asks for.

    Raises:
      ValueError: if neither is at least as large as the other along all axes.
    """
    axes = range(a.ndim) if axes is None else axes
    if all(a.shape[d] >= b.shape[d] for d in axes):
        return a, b
    if all(b.shape[d] >= a.shape[d] for d in axes):
        return b, a
    raise ValueError(
        f"{name}: with mode='valid' one array must be at least as large as the other in every dimension, got "
        f"{a.shape} and {b.shape}"
    )


def margins(mode, size):
    """How many zeros are added before and behind, for a kernel of ``size`` points."""
    before = {"full": size - 1, "same": size - 1 - (size - 1) // 2, "valid": 0}[mode]
    return before, {"full": size - 1, "same": (size - 1) // 2, "valid": 0}[mode]


def direct(a, b, mode, precision):
    """The convolution as XLA's operation, which slides ``b`` backwards."""
    if not a.ndim:
        return a * b
    pads = [margins(mode, n) for n in b.shape]
    if is_complex(a) and is_complex(b):
        both = rnp.concatenate([a.real[None], a.imag[None]])
        parts = [slide(both, kernel, pads, precision) for kernel in (b.real, b.imag)]
        real = parts[0][0] - parts[1][1]
        imaginary = parts[0][1] + parts[1][0]
        return lax.complex(real, imaginary)
    return slide(a[None], b, pads, precision)[0]


def slide(a, kernel, pads, precision):
    """Each of a number of arrays convolved with the kernel."""
    out = lax.conv_general_dilated(
        a[:, None], rnp.flip(kernel)[None, None], (1,) * kernel.ndim, pads, precision=precision
    )
    return out[:, 0]


def by_fft(name, a, b, mode, axes):
    """The convolution along some axes as a product of transforms; the others are broadcast."""
    if mode == "valid":
        a, b = larger_first(name, a, b, axes)
    full = [a.shape[d] + b.shape[d] - 1 for d in axes]
    sizes = [fast_size(n) for n in full]
    if is_complex(a):
        out = rnp.fft.ifftn(rnp.fft.fftn(a, sizes, axes) * rnp.fft.fftn(b, sizes, axes), sizes, axes)
    else:
        out = rnp.fft.irfftn(rnp.fft.rfftn(a, sizes, axes) * rnp.fft.rfftn(b, sizes, axes), sizes, axes)
    for d, n in zip(axes, full, strict=True):
        kept = {"full": n, "same": a.shape[d], "valid": a.shape[d] - b.shape[d] + 1}[mode]
        start = (n - kept) // 2
        out = lax.slice_in_dim(out, start, start + kept, axis=d)
    return rnp.asarray(out, a.dtype)


def fast_size(n):
    """The next number of the form ``2^i 3^j 5^k``, for which transforms are fast."""
    best = 1
    while best < n:
        best *= 2
    five = 1
    while five < best:
        three = five
        while three < best:
            size = three
            while size < n:
                size *= 2
            best = min(best, size)
            three *= 3
        five *= 5
    return best


def convolved(name, a, b, mode, method, precision):
    one_of(name, "mode", mode, MODES)
    one_of(name, "method", method, METHODS)
    if method == "fft" and a.ndim:
        return by_fft(name, a, b, mode, tuple(range(a.ndim)))
    if mode == "valid":
        a, b = larger_first(name, a, b)
    return direct(a, b, mode, precision)


@fused(static=("mode", "method", "precision"))
def convolve(
    in1: Array, in2: Array, mode: str = "full", method: str = "auto", precision: Any = None
) -> Array:
    """The convolution of two arrays.

    Args:
      in1, in2: arrays of equally many dimensions. Integers become floats.
      mode: ``"full"``: all sums in which the arrays overlap; ``"same"``: the middle of them, of the shape of
        ``in1``; ``"valid"``: those in which one array lies wholly in the other.
      method: ``"direct"`` (``"auto"``): sums; ``"fft"``: by a product of Fourier transforms, which is faster
        for two long arrays and less exact where sizes of numbers differ.
      precision: of the sums, see ``lax.Precision``.

    Returns:
      an array of their common dtype.

    Raises:
      ValueError: for arrays that do not fit, without elements, or unknown words.

    Example:
      >>> print(convolve(rnp.array([1.0, 2.0, 3.0]), rnp.array([1.0, 1.0])))
      [1. 3. 5. 3.]
    """
    a, b = pair("convolve", in1, in2)
    return convolved("convolve", a, b, mode, method, precision)


@fused(static=("mode", "method", "precision"))
def correlate(
    in1: Array, in2: Array, mode: str = "full", method: str = "auto", precision: Any = None
) -> Array:
    """The correlation of two arrays: ``in1`` convolved with the conjugate of ``in2`` backwards. Arguments as
    for ``convolve``.

    Example:
      >>> print(correlate(rnp.array([1.0, 2.0, 3.0]), rnp.array([0.0, 1.0])))
      [1. 2. 3. 0.]
    """
    a, b = pair("correlate", in1, in2)
    return convolved("correlate", a, turned(b), mode, method, precision)


@fused(static=("mode", "axes"))
def fftconvolve(in1: Array, in2: Array, mode: str = "full", axes: Sequence[int] | None = None) -> Array:
    """The convolution of two arrays by Fourier transforms.

    Args:
      in1, in2: arrays of equally many dimensions.
      mode: as for ``convolve``.
      axes: along which to convolve; None: all. Along the others the arrays are broadcast.

    Raises:
      ValueError: for arrays or axes that do not fit.

    Example:
      >>> print(np.asarray(fftconvolve(rnp.array([1.0, 2.0, 3.0]), rnp.array([1.0, 1.0]))).round(3) + 0.0)
      [1. 3. 5. 3.]
    """
    name = "fftconvolve"
    a, b = pair(name, in1, in2)
    one_of(name, "mode", mode, MODES)
    if axes is None:
        axes = range(a.ndim)
    axes = [axis_of(name, d, a.ndim) for d in (axes if isinstance(axes, Iterable) else (axes,))]
    if len(set(axes)) != len(axes):
        raise ValueError(f"{name}: axes name one twice: {tuple(axes)}")
    for d in range(a.ndim):
        if d not in axes and a.shape[d] != b.shape[d] and 1 not in (a.shape[d], b.shape[d]):
            raise ValueError(
                f"{name}: sizes of dimension {d} must be equal or 1, got {a.shape} and {b.shape}"
            )
    if not axes:
        return a * b
    return by_fft(name, a, b, mode, tuple(sorted(axes)))


def in_the_plane(name, in1, in2, mode, boundary, fillvalue, precision, turn):
    a, b = pair(name, in1, in2)
    if a.ndim != 2:
        raise ValueError(f"{name} takes arrays of two dimensions, got {a.shape} and {b.shape}")
    one_of(name, "mode", mode, MODES)
    one_of(name, "boundary", boundary, tuple(BOUNDARIES))
    b = turned(b) if turn else b
    if mode == "valid":
        a, b = larger_first(name, a, b)
    plain = boundary == "fill" and isinstance(fillvalue, (int, float, complex)) and fillvalue == 0
    if mode == "valid" or (plain and not (turn and mode == "same")):
        return direct(a, b, mode, precision)
    pads = [margins(mode, n) for n in b.shape]
    if turn and mode == "same":  # here SciPy's middle is one point further on for even sizes
        pads = [(behind, before) for before, behind in pads]
    how = {"constant_values": rnp.asarray(fillvalue, a.dtype)} if boundary == "fill" else {}
    return direct(rnp.pad(a, pads, mode=BOUNDARIES[boundary], **how), b, "valid", precision)


@fused(static=("mode", "boundary", "fillvalue", "precision"))
def convolve2d(
    in1: Array,
    in2: Array,
    mode: str = "full",
    boundary: str = "fill",
    fillvalue: float = 0,
    precision: Any = None,
) -> Array:
    """The convolution of two matrices.

    Args:
      in1, in2: arrays of two dimensions.
      mode: as for ``convolve``.
      boundary: what is beyond the edges of ``in1``: ``"fill"``: ``fillvalue``; ``"wrap"``: the array again;
        ``"symm"``: its mirror image.
      fillvalue: a number.
      precision: as for ``convolve``.

    Raises:
      ValueError: for arrays that do not fit, or unknown words.

    Example:
      >>> print(convolve2d(rnp.ones((2, 2)), rnp.ones((1, 2)), mode="same", boundary="wrap"))
      [[2. 2.]
       [2. 2.]]
    """
    return in_the_plane("convolve2d", in1, in2, mode, boundary, fillvalue, precision, turn=False)


@fused(static=("mode", "boundary", "fillvalue", "precision"))
def correlate2d(
    in1: Array,
    in2: Array,
    mode: str = "full",
    boundary: str = "fill",
    fillvalue: float = 0,
    precision: Any = None,
) -> Array:
    """The correlation of two matrices: ``in1`` convolved with the conjugate of ``in2`` backwards. Arguments
    as for ``convolve2d``.

    Example:
      >>> print(correlate2d(rnp.ones((2, 2)), rnp.array([[1.0, 2.0]]), mode="same"))
      [[3. 1.]
       [3. 1.]]
    """
    return in_the_plane("correlate2d", in1, in2, mode, boundary, fillvalue, precision, turn=True)


__all__ = ["convolve", "convolve2d", "correlate", "correlate2d", "fftconvolve"]
