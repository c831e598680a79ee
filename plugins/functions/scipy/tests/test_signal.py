"""Convolution, trends and spectra against SciPy's."""

import warnings

import numpy as np
import pytest
import rabbet as rb
import rabbet.numpy as rnp
import scipy.signal
from oracles import check_batches, check_gradient, close, ours
from rabbet.scipy import signal

random = np.random.default_rng(9)
X, Y = random.normal(size=12), random.normal(size=4)
Z = X + 1j * random.normal(size=12)
A, B = random.normal(size=(5, 6)), random.normal(size=(3, 2))
T, U = random.normal(size=(3, 4, 2)), random.normal(size=(2, 3, 2))
LONG, OTHER = random.normal(size=(2, 50)), random.normal(size=(2, 50))


def compare(name, *args, **kwargs):
    with warnings.catch_warnings():  # SciPy warns where a segment is longer than the signal
        warnings.simplefilter("ignore")
        wanted = getattr(scipy.signal, name)(*args, **kwargs)
    close(getattr(signal, name)(*map(ours, args), **kwargs), wanted)


@pytest.mark.parametrize("mode", ["full", "same", "valid"])
def test_convolution(mode):
    for name in ("convolve", "correlate"):
        for a, b in ((X, Y[:3]), (X, Y), (Y, X), (Z, Z[:4]), (Z, Y), (A, B), (T, U)):
            compare(name, a, b, mode)
        compare(name, B, A, mode, method="fft")
        compare(name, Z, Y, mode, method="fft")
    compare("fftconvolve", A, A[:1, :3], mode, axes=1)
    for boundary in ("fill", "wrap", "symm"):
        compare("convolve2d", A, B, mode, boundary, fillvalue=0.5)
        compare("correlate2d", A, B, mode, boundary)
    compare("correlate2d", B, A, mode)


@pytest.mark.needs("bfloat16")
@pytest.mark.narrow
def test_dtypes_derivatives_and_batches_of_convolution():
    assert signal.convolve(np.arange(3), np.arange(2)).tolist() == [0, 0, 1, 2]
    assert signal.convolve(np.arange(3), np.arange(2)).dtype == "float32"
    assert signal.convolve(X.astype("float16"), Y.astype("float16")).dtype == "float16"
    assert signal.fftconvolve(rnp.ones(3, "bfloat16"), rnp.ones(2, "bfloat16")).dtype == rnp.bfloat16
    assert signal.convolve(2.0, 3.0) == 6.0
    check_gradient(lambda a, b: (signal.convolve(a, b, "same"), signal.correlate2d(a, b, boundary="wrap"),
                                 signal.fftconvolve(a, b)), A, B)  # fmt: skip
    check_gradient(lambda a, b: signal.correlate(a, b), Z, Y)
    check_batches(lambda a, b: signal.convolve(a, b), A, A[:, :3])


def test_trends():
    compare("detrend", A)
    compare("detrend", A, axis=0, type="constant")
    compare("detrend", X, bp=[3, 7])
    compare("detrend", Z, bp=5)
    close(signal.detrend(np.arange(5)), np.zeros(5, "float32"), atol=1e-6)
    check_gradient(lambda x: signal.detrend(x, bp=4), X)


SEGMENTS = [
    {"nperseg": 16}, {"nperseg": 15, "noverlap": 4, "nfft": 20, "window": ("tukey", 0.3)},
    {"nperseg": 16, "window": "boxcar", "noverlap": 0, "detrend": "linear"},
    {"nperseg": 16, "return_onesided": False, "detrend": False},
]  # fmt: skip


@pytest.mark.parametrize("segments", SEGMENTS, ids=str)
def test_spectra(segments):
    compare("welch", LONG, **segments)
    compare("csd", LONG.T, OTHER.T, fs=3.0, average="median", scaling="spectrum", axis=0, **segments)
    compare("stft", LONG, fs=2.0, **segments)
    there = {k: v for k, v in segments.items() if k in ("nperseg", "noverlap", "nfft", "window")}
    onesided = segments.get("return_onesided", True)
    transforms = scipy.signal.stft(LONG[0], **segments)[2]
    compare("istft", transforms, fs=2.0, input_onesided=onesided, **there)


def test_more_spectra():
    compare("welch", LONG)
    compare("welch", LONG + 1j * OTHER, nperseg=16)
    compare("csd", LONG, OTHER[:, :30], nperseg=16)
    for boundary in (None, "even", "odd", "constant"):
        compare("stft", LONG[0], nperseg=16, boundary=boundary, padded=False)
    compare("stft", LONG.T, nperseg=16, axis=0)
    window = np.hamming(16)
    close(signal.stft(ours(LONG), window=ours(window), nperseg=16),
          scipy.signal.stft(LONG, window=window, nperseg=16))  # fmt: skip
    many = np.moveaxis(scipy.signal.stft(LONG, nperseg=16)[2], 0, 2)
    t, x = signal.istft(ours(many), time_axis=1, freq_axis=0)
    close(x, scipy.signal.istft(many, time_axis=1, freq_axis=0)[1])
    assert t.shape == x.shape[:1]  # SciPy's times have the length of the first dimension, whatever it is
    assert [out.shape for out in signal.csd(rnp.zeros(0), rnp.zeros(3))] == [(0,), (0,)]


def test_derivatives_and_batches_of_spectra():
    check_gradient(lambda x: signal.welch(x, nperseg=16, average="median")[1], LONG)
    check_gradient(lambda x: signal.istft(signal.stft(x, nperseg=16)[2])[1], LONG)
    check_batches(lambda x: signal.stft(x, nperseg=16)[2], LONG)
    fs = ours(np.array(2.0))
    np.testing.assert_allclose(
        rb.jit(lambda fs: signal.welch(ours(LONG), fs)[0])(fs), signal.welch(LONG, 2.0)[0]
    )


@pytest.mark.parametrize("size", [1, 2, 7, 8])
def test_windows(size):
    from rabbet.scipy.signal.windows import NEED_NUMBERS, SHORT, WINDOWS, get_window

    numbers = [("kaiser", 3.0), ("gaussian", 2.0), ("general_gaussian", 1.5, 2.0), ("general_hamming", 0.6),
               ("general_cosine", [0.5, 0.3, 0.2]), ("chebwin", 60.0), ("dpss", 0.9), ("tukey", 0.2),
               ("taylor", 5, 40), ("exponential", None, 2.0), 4.0]  # fmt: skip
    plain = [name for name in WINDOWS if name not in NEED_NUMBERS]
    short = [name for name, long in SHORT.items() if long not in NEED_NUMBERS and name != "hanning"]
    for window in (*plain, *short, *numbers):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            wanted = scipy.signal.get_window(window, size)
        np.testing.assert_allclose(get_window("stft", window, size), wanted, atol=1e-12, err_msg=str(window))


def test_messages():
    for wrong, words in (
        (lambda: signal.convolve(X, Y, "x"), "mode must be"),
        (lambda: signal.convolve(X, Y, method="x"), "method must be"),
        (lambda: signal.convolve(X, A), "equally many dimensions"),
        (lambda: signal.convolve(X, X[:0]), "at least one element"),
        (lambda: signal.convolve(np.ones((2, 5)), np.ones((5, 2)), "valid"), "at least as large"),
        (lambda: signal.convolve2d(X, Y), "two dimensions"),
        (lambda: signal.convolve2d(A, B, boundary="x"), "boundary must be"),
        (lambda: signal.fftconvolve(A, B, axes=0), "sizes of dimension 1"),
        (lambda: signal.detrend(X, type="x"), "type must be"),
        (lambda: signal.detrend(X, bp=30), "bp must be"),
        (lambda: signal.stft(X, window="x"), "no window 'x'"),
        (lambda: signal.stft(X, window="kaiser"), "needs numbers"),
        (lambda: signal.stft(X, boundary="x"), "boundary must be"),
        (lambda: signal.welch(X, nperseg=8, noverlap=9), "noverlap must be"),
        (lambda: signal.welch(X, nperseg=8, nfft=4), "nfft must be"),
        (lambda: signal.welch(X, scaling="x"), "scaling must be"),
        (lambda: signal.csd(X, X, window=X, nperseg=8), "nperseg is 8"),
        (lambda: signal.istft(X), "at least two dimensions"),
        (lambda: signal.istft(A, time_axis=0, freq_axis=0), "must differ"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=words):
            wrong()
