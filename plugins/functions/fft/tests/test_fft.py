"""The laws of ``primitives/fft.py``, then its corners and messages."""

import numpy as np
import pytest
from rabbet import lax
from rabbet.lax import FftType
from rabbet.testing.draws import device_array, floats
from rabbet.testing.suite import law_tests
from rabbet_fft.rows import ROWS

test_value, _, test_mapping, test_derivatives, test_kinds = law_tests(ROWS)


def test_integers_and_half_precision_are_computed_in_single():
    for x in (device_array(np.int32([1, 2, 3])), device_array(np.array([1, 2, 3], np.float16))):
        out = lax.fft(x, "RFFT", (3,))
        assert out.dtype == np.complex64
        np.testing.assert_allclose(out, np.fft.rfft([1, 2, 3]), rtol=1e-6)


def test_real_arrays_are_taken_as_complex():
    np.testing.assert_allclose(lax.fft(floats(1, 2, 3), FftType.FFT, [3]), np.fft.fft([1, 2, 3]), rtol=1e-6)
    assert lax.fft(floats(1, 2), FftType.IRFFT, (3,)).dtype == np.float32


def test_no_dimensions_and_no_elements():
    assert lax.fft(floats(1, 2), FftType.IFFT, ()).dtype == np.complex64
    assert lax.fft(lax.full((0, 4), 1.0), FftType.RFFT, (4,)).shape == (0, 3)
    assert lax.fft(lax.full((2, 0), 1.0), FftType.FFT, (0,)).shape == (2, 0)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: lax.fft(lax.complex(floats(1), floats(1)), "RFFT", (1,)), TypeError, "takes floating"),
        (lambda: lax.fft(floats(1, 2), "DCT", (2,)), ValueError, "one of FFT, IFFT, RFFT, IRFFT, got 'DCT'"),
        (lambda: lax.fft(floats(1, 2), "FFT", (3,)), ValueError, r"last dimensions must be \(3,\)"),
        (lambda: lax.fft(floats(1, 2), "IRFFT", (4,)), ValueError, r"last dimensions must be \(3,\)"),
        (lambda: lax.fft(floats(1, 2), "FFT", (1, 2)), ValueError, "more than the dimensions of c64"),
        (lambda: lax.fft(lax.full((1,) * 4, 1.0), "FFT", (1,) * 4), ValueError, "for more, apply it several"),
    ],
)  # fmt: skip
def test_messages(call, error, words):
    with pytest.raises(error, match=words):
        call()
