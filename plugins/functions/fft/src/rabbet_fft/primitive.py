"""The discrete Fourier transform over the last one to three dimensions.

``X[k] = sum_n x[n] w^(k n)`` with ``w = exp(-2 pi i / N)``; the inverse has ``1 / w`` and divides by ``N``.
``RFFT`` takes real arrays and keeps the first ``N // 2 + 1`` of the last dimension, for the others are their
conjugates; ``IRFFT`` goes back, and reads the real part alone where an honest half has real numbers.

Its matrix is symmetric, and cotangents pair without conjugation, so ``FFT`` and ``IFFT`` are their own
transposes. Those of the real ones follow from ``Re(c w^(k n)) = Re(conj(c) w^(-k n))``: what stands for two
conjugate terms counts twice on one side and half on the other.
"""

import enum
from math import log2, prod

import numpy as np
from rabbet import dtypes, lax
from rabbet.extend.cost import Cost
from rabbet.extend.native import compiler_has
from rabbet.extend.primitive import Batched, Primitive, accept, broadcast_in_dim, full_of_type, move_axis, pad
from rabbet.extend.transform import typeof


class FftType(enum.IntEnum):
    """Which discrete Fourier transform: of complex numbers, back, of real numbers, back to real numbers.

    Example:
      >>> lax.fft(rnp.array([1.0, 2.0]), lax.FftType.RFFT, (2,))
      Array([ 3.+0.j, -1.+0.j], dtype=complex64)
    """

    FFT = 0
    IFFT = 1
    RFFT = 2
    IRFFT = 3


FFT, IFFT, RFFT, IRFFT = FftType
MOST_DIMENSIONS = 3
# Where one over several dimensions may be refused if others are cut, it is whole on each device.
NEEDS_ALL = not compiler_has("fft of what is cut")


def fft_aval(x, fft_type, fft_lengths):
    name = f"fft ({fft_type.name})"
    accept(name, "f" if fft_type is RFFT else "c", x)
    if dtypes.canonicalize(x.dtype).itemsize < (4 if fft_type is RFFT else 8):
        raise TypeError(f"{name} is computed in 32 or 64 bit, got {x.str_short()}; convert it first")
    n = len(fft_lengths)
    if not 1 <= n <= MOST_DIMENSIONS:
        raise ValueError(
            f"{name} goes over 1 to {MOST_DIMENSIONS} dimensions, got fft_lengths={fft_lengths}; for more, "
            "apply it several times (rabbet.numpy.fft.fftn does)"
        )
    if n > x.ndim:
        raise ValueError(f"{name}: fft_lengths={fft_lengths} are more than the dimensions of {x.str_short()}")
    wanted = (*fft_lengths[:-1], half(fft_lengths[-1])) if fft_type is IRFFT else fft_lengths
    if x.shape[-n:] != wanted:
        raise ValueError(
            f"{name} of {x.str_short()} with fft_lengths={fft_lengths}: the last dimensions must be "
            f"{wanted}; cut the array or fill it up with zeros"
        )
    last = half(fft_lengths[-1]) if fft_type is RFFT else fft_lengths[-1]
    dtype = {RFFT: complex_dtype, IRFFT: real_dtype}.get(fft_type, lambda d: d)(x.dtype)
    return x.update(shape=(*x.shape[:-n], *fft_lengths[:-1], last), dtype=dtype, weak_type=False)


def half(length):
    """How many numbers of the transform of ``length`` real ones are kept."""
    return length // 2 + 1 if length else 0


def complex_dtype(dtype):
    """The complex dtype whose parts have a floating dtype."""
    return np.dtype(f"complex{16 * dtype.itemsize}")


def real_dtype(dtype):
    """The dtype of the parts of a complex dtype."""
    return np.dtype(f"float{4 * dtype.itemsize}")


fft = Primitive("fft", fft_aval, kinds=("linear",), doc="the discrete Fourier transform")


@fft.rule("cost")
def fft_cost(op, x):
    """5 n log2(n) for n complex numbers, as the authors of FFTW count, and half of it for real ones."""
    (out,) = op.outs((x,))
    n = prod(op.params["fft_lengths"])
    whole = x if op.params["fft_type"] is RFFT else out  # the larger one where one side is cut in half
    transforms = whole.size / n if n else 0.0
    each = 5.0 * n * log2(n) if n > 1 else 0.0
    flops = transforms * each * (0.5 if op.params["fft_type"] in (RFFT, IRFFT) else 1.0)
    return Cost(flops, float(x.nbytes + out.nbytes))


@fft.rule("explicit")
def along_others(op, x):
    first = len(x.entries) - len(op.params["fft_lengths"])
    for d, entry in enumerate(x.entries[first:], first):
        if entry is not None:
            raise ValueError(f"it transforms dimension {d}, which {entry!r} cuts")
    return x.entries


@fft.rule("lower")
def lower_fft(op, x):
    (a,), out = op.in_avals, op.out
    if not a.size or not out.size:
        return op.constant(0, out)
    lengths = ", ".join(map(str, op["fft_lengths"]))
    # The compiler does the same where these are cut, and gives some to the CPU in an order that it refuses.
    wholly = NEEDS_ALL and len(op["fft_lengths"]) > 1
    x = op.whole(x, a, None if wholly else range(a.ndim - len(op["fft_lengths"]), a.ndim))
    return op.emit(
        f"stablehlo.fft {x}, type = {op['fft_type'].name}, length = [{lengths}] : ({a.mlir}) -> {out.mlir}"
    )


@fft.rule("batch")
def batch_fft(op, x):
    return Batched(op(move_axis(x.value, x.axis, 0)), 0)


@fft.rule("transpose")
def transpose_fft(op, ct, x):
    """``N irfft(conj(ct) / c)`` for ``RFFT``, ``c conj(rfft(ct)) / N`` for ``IRFFT``; see ``copies``."""
    fft_type, lengths = op.params["fft_type"], op.params["fft_lengths"]
    if fft_type in (FFT, IFFT):
        return (op(ct),)
    size = float(prod(lengths))
    if not size:
        return (full_of_type(x.aval.strong(), 0),)
    if fft_type is RFFT:
        spectrum = lax.mul(lax.conj(ct), copies(typeof(ct), lengths[-1], size, 0.5 * size))
        return (fft(spectrum, fft_type=IRFFT, fft_lengths=lengths),)
    spectrum = lax.conj(fft(ct, fft_type=RFFT, fft_lengths=lengths))
    return (lax.mul(spectrum, copies(typeof(spectrum), lengths[-1], 1.0 / size, 2.0 / size)),)


def copies(aval, length, one, two):
    """``one`` where a place of the half spectrum stands for itself (the first, and the last if ``length`` is
    even), ``two`` where it stands for its conjugate too; an array of type ``aval``.
    """
    last = aval.shape[-1]
    alone = last - (length % 2 == 0)
    scalar = aval.update(shape=(), weak_type=False)
    between = full_of_type(scalar.update(shape=(alone - 1,)), two)
    row = pad(between, full_of_type(scalar, one), padding_config=((1, last - alone, 0),))
    return broadcast_in_dim(row, shape=aval.shape, broadcast_dimensions=(aval.ndim - 1,))
