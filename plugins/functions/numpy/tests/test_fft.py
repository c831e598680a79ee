"""``rabbet.numpy.fft`` against NumPy's, its derivatives and its messages."""

import numpy as np
import pytest
import rabbet.numpy as rnp

random = np.random.RandomState(3)
REAL = random.randn(2, 3, 4, 5).astype("f4")
COMPLEX = (REAL + 1j * random.randn(2, 3, 4, 5)).astype("c8")
HALF = COMPLEX[:, :, :3]


def close(found, wanted):
    found = np.asarray(found)
    assert found.shape == wanted.shape
    assert found.dtype.kind == wanted.dtype.kind
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5 * max(np.abs(wanted).max(initial=0), 1))


@pytest.mark.parametrize("norm", [None, "ortho", "forward"])
@pytest.mark.parametrize("name", ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft"])
def test_one_dimension(name, norm):
    x = REAL if name in ("rfft", "ihfft") else COMPLEX
    for kwargs in ({}, {"n": 4}, {"n": 7, "axis": 1}, {"axis": 0}):
        close(getattr(rnp.fft, name)(x, **kwargs, norm=norm), getattr(np.fft, name)(x, **kwargs, norm=norm))


@pytest.mark.parametrize("name", ["fft", "ifft", "rfft", "irfft"])
def test_several_dimensions(name):
    x = REAL if name == "rfft" else COMPLEX
    ours, theirs = [getattr(m.fft, name + "n") for m in (rnp, np)]
    for kwargs in (
        {},
        {"axes": (0, 2)},
        {"axes": [2, 0, 1], "norm": "ortho"},
        {"s": (2, 6), "axes": (1, 3)},
        {"s": (4, 4, 2, 3), "axes": (0, 1, 2, 3), "norm": "forward"},
    ):
        close(ours(x, **kwargs), theirs(x, **kwargs))
    ours, theirs = [getattr(m.fft, name + "2") for m in (rnp, np)]
    close(ours(x), theirs(x))
    close(ours(x, (3, 3), (0, 1)), theirs(x, (3, 3), (0, 1)))


@pytest.mark.forbidden("explicit_x64_dtypes")
@pytest.mark.narrow
def test_dtypes():
    wide = rnp.asarray(np.arange(4.0), dtype="float64")
    assert rnp.fft.fft(wide).dtype == np.complex128
    assert rnp.fft.irfft(rnp.fft.rfft(wide)).dtype == np.float64
    assert rnp.fft.fft(np.arange(4)).dtype == np.complex64
    assert rnp.fft.rfft(rnp.arange(4, dtype="float16")).dtype == np.complex64


def test_frequencies_and_shifts():
    for n in (1, 4, 5):
        close(rnp.fft.fftfreq(n, 0.1), np.fft.fftfreq(n, 0.1))
        close(rnp.fft.rfftfreq(n, d=2), np.fft.rfftfreq(n, d=2))
    for axes in (None, 1, (0, 3)):
        close(rnp.fft.fftshift(REAL, axes), np.fft.fftshift(REAL, axes))
        close(rnp.fft.ifftshift(REAL, axes), np.fft.ifftshift(REAL, axes))


@pytest.mark.needs("grad", "vmap")
def test_the_gradient_of_the_energy_of_a_spectrum():
    """Parseval: the spectrum's energy is ``n`` times that of the signal."""
    import rabbet as rb

    x = rnp.array(REAL[0, 0])
    gradient = rb.vmap(rb.grad(lambda v: rnp.sum(rnp.abs(rnp.fft.fft(v)) ** 2)))(x)
    close(gradient, 2 * 5 * REAL[0, 0])


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: rnp.fft.rfft(COMPLEX), ValueError, "rfft takes real arrays, got c64.*use fft"),
        (lambda: rnp.fft.fft(REAL, n=0), ValueError, "at least one point"),
        (lambda: rnp.fft.rfft(rnp.zeros(0)), ValueError, "at least one point"),
        (lambda: rnp.fft.fft(REAL, axis=4), ValueError, "fft: axis 4 is out of range"),
        (lambda: rnp.fft.fft(REAL, axis=(0, 1)), TypeError, "fft: axis must be an int"),
        (lambda: rnp.fft.fftn(REAL, (3,), (0, 1)), ValueError, "1 sizes are given for 2 axes"),
        (lambda: rnp.fft.fftn(REAL, axes=(0, 0)), ValueError, "name one twice"),
        (lambda: rnp.fft.fft2(REAL, axes=(0,)), ValueError, "fft2 goes over two axes.*use fftn"),
        (lambda: rnp.fft.fft(REAL, norm="unit"), ValueError, "norm must be None, 'backward'"),
        (lambda: rnp.fft.fft([1.0, 2.0]), TypeError, "fft takes arrays and numbers, got a list"),
        (lambda: rnp.fft.fftfreq(2.5), TypeError, "fftfreq: n must be an int"),
        (lambda: rnp.fft.rfftfreq(4, dtype=int), TypeError, "rfftfreq: dtype must be a float dtype"),
    ],
)  # fmt: skip
def test_messages(call, error, words):
    with pytest.raises(error, match=words):
        call()


@pytest.mark.narrow
@pytest.mark.parametrize("norm", ["backward", "ortho", "forward"])
def test_transforms_of_no_points_are_empty(norm):
    nothing = rnp.zeros((0, 3))
    assert rnp.fft.fft(nothing[:, 0], norm=norm).shape == (0,)
    assert rnp.fft.ifft(nothing, axis=0, norm=norm).shape == (0, 3)
    assert rnp.fft.fft2(nothing, norm=norm).dtype == "complex64"
    assert rnp.fft.rfft2(nothing, norm=norm).shape == (0, 2)
    assert rnp.fft.irfft(rnp.zeros(1), norm=norm).shape == (0,)
    assert rnp.fft.irfft(nothing[:, 0], norm=norm).dtype == "float32"
