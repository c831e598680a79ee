"""Every code against its meaning in exact arithmetic, rounding of bits, and the kit."""

from fractions import Fraction

import numpy as np
import pytest
import rabbet as rb
import rabbet.numpy as rnp
from rabbet.testing import check_dtype

CODES = np.arange(-32768, 32768).astype("int16")


def meaning(code, bits=16):
    """The number that a code means, read bit by bit; None for "not a real"."""
    code &= (1 << bits) - 1
    if code == 0:
        return Fraction(0)
    if code == 1 << bits - 1:
        return None
    sign = -1 if code >> bits - 1 else 1
    body = format(code if sign > 0 else (1 << bits) - code, f"0{bits}b")[1:]
    run = len(body) - len(body.lstrip(body[0]))
    regime = run - 1 if body[0] == "1" else -run
    rest = body[run + 1 :]
    exponent = int((rest + "00")[:2], 2)
    fraction = rest[2:]
    size = 1 + (Fraction(int(fraction, 2), 2 ** len(fraction)) if fraction else 0)
    return sign * size * Fraction(2) ** (4 * regime + exponent)


MEANINGS = np.array([np.nan if (x := meaning(int(c))) is None else float(x) for c in CODES])


def encoded(numbers):
    return np.asarray(rnp.asarray(np.float32(numbers)).astype("posit16").view("int16"))


def test_every_code_means_what_the_standard_says():
    found = np.asarray(rnp.asarray(CODES).view("posit16"), "float32")
    np.testing.assert_array_equal(found, MEANINGS)


def test_every_number_of_the_format_is_kept():
    np.testing.assert_array_equal(encoded(MEANINGS), CODES)


def test_between_two_codes_the_one_with_one_bit_more_decides():
    codes = np.arange(1, 32766)
    middle = np.array([float(meaning(2 * int(c) + 1, 17)) for c in codes])  # the bit pattern halfway
    even = codes + codes % 2
    np.testing.assert_array_equal(encoded(middle), even)
    np.testing.assert_array_equal(encoded(-middle), -even)
    near = np.float32(middle)
    np.testing.assert_array_equal(encoded(np.nextafter(near, np.float32(0))), codes)
    np.testing.assert_array_equal(encoded(np.nextafter(near, np.float32(np.inf))), codes + 1)


def test_nothing_becomes_zero_or_infinite():
    assert encoded([1e-30, -1e-30, 1e30, -1e30, np.inf, -np.inf, np.nan, 0.0, -0.0]).tolist() == [
        1, -1, 32767, -32767, -32768, -32768, -32768, 0, 0,
    ]  # fmt: skip


def test_arithmetic_sorting_and_derivatives():
    x = rnp.array([3.0, 0.1, -2.5], "posit16")
    assert (x * 2).tolist() == [6.0, 0.20001220703125, -5.0]
    assert rnp.sort(x).tolist() == [-2.5, 0.100006103515625, 3.0]
    assert rb.jit(rb.grad(lambda x: (x * x).sum()))(x).tolist() == [6.0, 0.20001220703125, -5.0]


@pytest.mark.filterwarnings("ignore")
def test_the_kit():
    check_dtype("posit16")
