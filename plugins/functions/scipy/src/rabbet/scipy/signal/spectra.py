"""Spectra: the short-time Fourier transform and averages of it (P. Welch, 1967)."""

import operator
from typing import Any

import numpy as np

import rabbet.numpy as rnp
from rabbet import Array
from rabbet.extend.functions import fused
from rabbet.scipy.inputs import array, axis_of, complex_dtype, inexact, is_complex, one_of, real_dtype, where
from rabbet.scipy.signal.trends import detrend as without_trend
from rabbet.scipy.signal.windows import get_window

BOUNDARIES = (None, "even", "odd", "constant", "zeros")
SCALINGS = ("density", "spectrum")


def segments_of(name, window, nperseg, noverlap, nfft, length):
    """``(weights, nperseg, noverlap, nfft)``: the window as an array, and the numbers that were left out."""
    if nperseg is not None:
        nperseg = operator.index(nperseg)
        if nperseg < 1:
            raise ValueError(f"{name}: nperseg must be at least 1, got {nperseg}")
    if isinstance(window, (str, tuple, int, float)):
        nperseg = min(256 if nperseg is None else nperseg, length)
        weights = get_window(name, window, nperseg)
    else:
        weights = array(name, window)
        if weights.ndim != 1 or weights.shape[0] > length:
            raise ValueError(
                f"{name}: window must be a vector no longer than the signal, got {weights.shape}"
            )
        if nperseg is not None and weights.shape[0] != nperseg:
            raise ValueError(f"{name}: the window has {weights.shape[0]} points, but nperseg is {nperseg}")
        nperseg = weights.shape[0]
    nfft = nperseg if nfft is None else operator.index(nfft)
    if nfft < nperseg:
        raise ValueError(f"{name}: nfft must be at least nperseg, {nperseg}, got {nfft}")
    noverlap = nperseg // 2 if noverlap is None else operator.index(noverlap)
    if not 0 <= noverlap < nperseg:
        raise ValueError(f"{name}: noverlap must be less than nperseg, {nperseg}, got {noverlap}")
    return weights, nperseg, noverlap, nfft


def extended(x, boundary, n):
    """A signal with ``n`` more points at both ends of its last axis."""
    pads = [*[(0, 0)] * (x.ndim - 1), (n, n)]
    if boundary == "zeros":
        return rnp.pad(x, pads)
    if boundary == "constant":
        return rnp.pad(x, pads, mode="edge")
    out = rnp.pad(x, pads, mode="reflect")
    if boundary == "odd":  # turned about the last point, not only mirrored
        end = x.shape[-1] + n
        out = rnp.concatenate([2 * x[..., :1] - out[..., :n], x, 2 * x[..., -1:] - out[..., end:]], -1)
    return out


def framed(x, nperseg, noverlap):
    """The segments of signals: of shape ``(..., how many, nperseg)``."""
    step = nperseg - noverlap
    count = (x.shape[-1] - noverlap) // step
    if noverlap == 0:
        return x[..., : count * step].reshape((*x.shape[:-1], count, step))
    return x[..., np.arange(count)[:, None] * step + np.arange(nperseg)]


def spectra_of(x, weights, kind, nperseg, noverlap, nfft, onesided):
    """The transforms of weighed segments: of shape ``(..., how many, frequencies)``."""
    frames = framed(x, nperseg, noverlap)
    if callable(kind):
        frames = kind(frames)
    elif kind:
        frames = without_trend(frames, type=kind)
    frames = frames * weights
    return rnp.fft.rfft(frames, nfft) if onesided else rnp.fft.fft(frames, nfft)


def frequencies(nfft, fs, onesided, dtype):
    numbers = np.fft.rfftfreq(nfft) if onesided else np.fft.fftfreq(nfft)
    return rnp.asarray(numbers, dtype) * rnp.asarray(fs, dtype)


def prepared(name, *xs):
    """Signals in one dtype, in which transforms are there."""
    xs = inexact(name, *xs)
    if xs[0].dtype.name in ("float64", "complex64", "complex128"):
        return xs
    return [rnp.asarray(x, np.dtype("float32")) for x in xs]


def at_place(out, axis):
    """Frequencies in the place of the signal's axis, segments last."""
    return rnp.moveaxis(out, -1, axis)


def stft(
    x: Array,
    fs: float = 1.0,
    window: Any = "hann",
    nperseg: int = 256,
    noverlap: int | None = None,
    nfft: int | None = None,
    detrend: Any = False,
    return_onesided: bool = True,
    boundary: str | None = "zeros",
    padded: bool = True,
    axis: int = -1,
) -> tuple[Array, Array, Array]:
    """The Fourier transforms of overlapping segments of a signal.

    Args:
      x: an array of signals.
      fs: how many points there are in a unit of time.
      window: the weights of a segment: a name like ``"hann"``, a tuple of a name and its numbers like
        ``("tukey", 0.25)``, or a vector.
      nperseg: how many points a segment has; at most as many as the signal.
      noverlap: how many of them it shares with the next; None: half of them.
      nfft: how many points a transform has (zeros are added); None: ``nperseg``.
      detrend: what is subtracted from each segment: ``"constant"``: the mean; ``"linear"``: a line; or a
        function of segments, which stand in the last axis; False: nothing.
      return_onesided: leave negative frequencies of real signals out.
      boundary: how the signal goes on for half a segment at both ends: ``"zeros"``, ``"constant"``,
        ``"even"``, ``"odd"``; None: not at all.
      padded: add zeros at the end to fill the last segment.
      axis: along which the signals go.

    Returns:
      ``(f, t, Zxx)``: frequencies, times of the segments' centres, and the transforms, with the frequencies
      in the place of ``axis`` and the segments in the last axis. They are divided by the sum of the window.

    Raises:
      ValueError: for numbers or words that do not fit.

    Example:
      >>> f, t, z = stft(rnp.ones(8), nperseg=4)
      >>> print(z.shape)
      (3, 5)
    """
    name = "stft"
    one_of(name, "boundary", boundary, BOUNDARIES)
    (x,) = prepared(name, x)
    axis = axis_of(name, axis, x.ndim)
    window, nperseg, noverlap, nfft = segments_of(name, window, nperseg, noverlap, nfft, x.shape[axis])
    real = real_dtype(x.dtype)
    onesided = return_onesided and not is_complex(x)
    z = short_time(
        x, rnp.asarray(window, real), nperseg=nperseg, noverlap=noverlap, nfft=nfft, detrend=detrend,
        onesided=bool(onesided), boundary=boundary, padded=bool(padded), axis=axis,
    )  # fmt: skip
    count = z.shape[-1]
    first = 0.0 if boundary is not None else nperseg / 2
    times = rnp.asarray(first + np.arange(count) * (nperseg - noverlap), real) / rnp.asarray(fs, real)
    return frequencies(nfft, fs, onesided, real), times, z


@fused(static=("nperseg", "noverlap", "nfft", "detrend", "onesided", "boundary", "padded", "axis"))
def short_time(x, window, *, nperseg, noverlap, nfft, detrend, onesided, boundary, padded, axis):
    x = rnp.moveaxis(x, axis, -1)
    if boundary is not None:
        x = extended(x, boundary, nperseg // 2)
    if padded:
        more = -(x.shape[-1] - nperseg) % (nperseg - noverlap) % nperseg
        x = rnp.pad(x, [*[(0, 0)] * (x.ndim - 1), (0, more)])
    z = spectra_of(x, window, detrend, nperseg, noverlap, nfft, onesided) / rnp.sum(window)
    return at_place(z, axis - z.ndim)


def csd(
    x: Array,
    y: Array | None,
    fs: float = 1.0,
    window: Any = "hann",
    nperseg: int | None = None,
    noverlap: int | None = None,
    nfft: int | None = None,
    detrend: Any = "constant",
    return_onesided: bool = True,
    scaling: str = "density",
    axis: int = -1,
    average: str = "mean",
) -> tuple[Array, Array]:
    """The cross spectrum of two signals, averaged over overlapping segments.

    Args:
      x, y: arrays of signals; other dimensions are broadcast, and the shorter signal is filled up with zeros.
        None for ``y``: the (real) spectrum of ``x``.
      fs, window, nperseg, noverlap, nfft, detrend, return_onesided, axis: as for ``stft``. ``nperseg`` None:
        the length of the window, or 256.
      scaling: ``"density"``: per unit of frequency; ``"spectrum"``: the power itself.
      average: over segments: ``"mean"`` or ``"median"`` (which is corrected for its bias).

    Returns:
      ``(f, Pxy)``: frequencies, and the spectrum with them in the place of ``axis``.

    Raises:
      ValueError: for numbers or words that do not fit.

    Example:
      >>> f, p = csd(rnp.arange(8.0), rnp.ones(8), nperseg=4, detrend=False)
      >>> print(p.shape)
      (3,)
    """
    return averaged("csd", x, y, fs, window, nperseg, noverlap, nfft, detrend, return_onesided, scaling, axis,
                    average)  # fmt: skip


def welch(
    x: Array,
    fs: float = 1.0,
    window: Any = "hann",
    nperseg: int | None = None,
    noverlap: int | None = None,
    nfft: int | None = None,
    detrend: Any = "constant",
    return_onesided: bool = True,
    scaling: str = "density",
    axis: int = -1,
    average: str = "mean",
) -> tuple[Array, Array]:
    """The power spectrum of a signal, averaged over overlapping segments. Arguments and results as for
    ``csd``; the spectrum is real.

    Example:
      >>> f, p = welch(rnp.arange(8.0), nperseg=4)
      >>> print(f)
      [0.   0.25 0.5 ]
    """
    return averaged("welch", x, None, fs, window, nperseg, noverlap, nfft, detrend, return_onesided, scaling,
                    axis, average)  # fmt: skip


def averaged(
    name, x, y, fs, window, nperseg, noverlap, nfft, detrend, return_onesided, scaling, axis, average
):
    one_of(name, "scaling", scaling, SCALINGS)
    one_of(name, "average", average, ("mean", "median"))
    x, *y = prepared(name, x) if y is None else prepared(name, x, y)
    if y and x.ndim != y[0].ndim:
        ndim = max(x.ndim, y[0].ndim)
        x, y = [v.reshape((*[1] * (ndim - v.ndim), *v.shape)) for v in (x, y[0])]
        y = [y]
    axis = axis_of(name, axis, x.ndim)
    x, *y = [rnp.moveaxis(v, axis, -1) for v in (x, *y)]
    real = real_dtype(x.dtype)
    lengths = [v.shape[-1] for v in (x, *y)]
    if 0 in lengths:
        none = rnp.zeros((*rnp.broadcast_shapes(*[v.shape[:-1] for v in (x, *y)]), 0), x.dtype)
        return rnp.zeros((0,), real), rnp.moveaxis(none if y else none.real, -1, axis)
    x, *y = [rnp.pad(v, [*[(0, 0)] * (v.ndim - 1), (0, max(lengths) - v.shape[-1])]) for v in (x, *y)]
    window, nperseg, noverlap, nfft = segments_of(name, window, nperseg, noverlap, nfft, max(lengths))
    onesided = bool(return_onesided) and not is_complex(x)
    power = mean_power(
        x, y[0] if y else None, rnp.asarray(window, real), rnp.asarray(fs, real), nperseg=nperseg,
        noverlap=noverlap, nfft=nfft, detrend=detrend, onesided=onesided, scaling=scaling, average=average,
        axis=axis,
    )  # fmt: skip
    return frequencies(nfft, fs, onesided, real), power


@fused(static=("nperseg", "noverlap", "nfft", "detrend", "onesided", "scaling", "average", "axis"))
def mean_power(x, y, window, fs, *, nperseg, noverlap, nfft, detrend, onesided, scaling, average, axis):
    one = spectra_of(x, window, detrend, nperseg, noverlap, nfft, onesided)
    if y is None:
        power = rnp.square(one.real) + rnp.square(one.imag)
    else:
        power = rnp.conj(one) * spectra_of(y, window, detrend, nperseg, noverlap, nfft, onesided)
    total = rnp.sum(window * window) * fs if scaling == "density" else rnp.square(rnp.sum(window))
    power = power / total
    if onesided:  # negative frequencies count too, but 0 has none, and the highest of an even number
        twice = np.full(power.shape[-1], 2.0)
        twice[[0, -1] if nfft % 2 == 0 else [0]] = 1.0
        power = power * twice.astype(real_dtype(power.dtype))
    count = power.shape[-2]
    if average == "mean" or count == 1:
        power = rnp.mean(power, -2)
    else:
        power = median(power) / median_bias(count)
    return rnp.moveaxis(power, -1, axis)


def median(power):
    """The median over segments, of both parts of complex numbers."""
    if not is_complex(power):
        return rnp.median(power, -2)
    return rnp.median(power.real, -2) + 1j * rnp.median(power.imag, -2)


def median_bias(n):
    """By how much the median of ``n`` exponentially distributed numbers is less than the mean (B. Allen et
    al., FINDCHIRP, 2012, appendix B).
    """
    even = 2 * np.arange(1.0, (n - 1) // 2 + 1)
    return float(1 + np.sum(1 / (even + 1) - 1 / even))


def istft(
    Zxx: Array,
    fs: float = 1.0,
    window: Any = "hann",
    nperseg: int | None = None,
    noverlap: int | None = None,
    nfft: int | None = None,
    input_onesided: bool = True,
    boundary: bool = True,
    time_axis: int = -1,
    freq_axis: int = -2,
) -> tuple[Array, Array]:
    """The inverse of ``stft``: segments weighed and added up, over the sum of squared windows.

    Args:
      Zxx: the transforms.
      fs, window, noverlap: as they were given to ``stft``.
      nperseg, nfft: likewise; None: as many as the frequencies say.
      input_onesided: whether negative frequencies were left out.
      boundary: whether the signal was continued at its ends.
      time_axis, freq_axis: of ``Zxx``.

    Returns:
      ``(t, x)``: times and the signals, which go along ``time_axis`` (without the other axis). Points that no
      window covers are zero.

    Raises:
      ValueError: for numbers or words that do not fit.

    Example:
      >>> t, x = istft(stft(rnp.arange(8.0), nperseg=4)[2])
      >>> print(np.asarray(x).round(3) + 0.0)
      [0. 1. 2. 3. 4. 5. 6. 7.]
    """
    name = "istft"
    (z,) = inexact(name, Zxx)
    z = rnp.asarray(z, complex_dtype(z.dtype))
    if z.ndim < 2:
        raise ValueError(f"{name} takes arrays of at least two dimensions, got {z.shape}")
    time_axis, freq_axis = axis_of(name, time_axis, z.ndim), axis_of(name, freq_axis, z.ndim)
    if time_axis == freq_axis:
        raise ValueError(f"{name}: time_axis and freq_axis must differ, got {time_axis} for both")
    count = z.shape[freq_axis]
    points = 2 * (count - 1) if input_onesided else count
    nperseg = points if nperseg is None else operator.index(nperseg)
    if nfft is None:
        nfft = nperseg if input_onesided and nperseg == points + 1 else points
    if isinstance(window, (str, tuple, int, float)):
        weights = get_window(name, window, nperseg)
    else:
        weights = array(name, window)
        if weights.shape != (nperseg,):
            raise ValueError(
                f"{name}: window must be a vector of nperseg={nperseg} points, got {weights.shape}"
            )
    _, _, noverlap, nfft = segments_of(name, np.ones(nperseg), nperseg, noverlap, nfft, nperseg)
    real = real_dtype(z.dtype)
    x = overlapped(
        z, rnp.asarray(weights, real), nperseg=nperseg, noverlap=noverlap, nfft=nfft,
        onesided=bool(input_onesided), boundary=bool(boundary), time_axis=time_axis, freq_axis=freq_axis,
    )  # fmt: skip
    axis = time_axis - (freq_axis < time_axis)
    return rnp.asarray(np.arange(x.shape[axis]), real) / rnp.asarray(fs, real), x


@fused(static=("nperseg", "noverlap", "nfft", "onesided", "boundary", "time_axis", "freq_axis"))
def overlapped(z, window, *, nperseg, noverlap, nfft, onesided, boundary, time_axis, freq_axis):
    z = rnp.moveaxis(z, (time_axis, freq_axis), (-2, -1))
    parts = (rnp.fft.irfft if onesided else rnp.fft.ifft)(z, nfft)[..., :nperseg]
    step, count = nperseg - noverlap, parts.shape[-2]
    length = nperseg + (count - 1) * step
    places = np.arange(count)[:, None] * step + np.arange(nperseg)
    x = rnp.zeros((*parts.shape[:-2], length), parts.dtype).at[..., places].add(parts * window)
    squares = rnp.zeros((length,), window.dtype).at[places].add(rnp.square(window))
    x = x * rnp.sum(window)
    if boundary:
        half = nperseg // 2
        x, squares = x[..., half : length - half], squares[half : length - half]
    x = x / where(squares > 1e-10, squares, 1)
    return rnp.moveaxis(x, -1, time_axis - (freq_axis < time_axis))


__all__ = ["csd", "istft", "stft", "welch"]
