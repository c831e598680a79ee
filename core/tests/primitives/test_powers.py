"""The laws of ``primitives/powers.py``, then its corners and messages."""

import numpy as np
import pytest
from rabbet import lax
from rabbet.testing.draws import device_array
from rabbet.testing.rows.powers import ROWS
from rabbet.testing.suite import law_tests

from .helpers import floats, ints, slope

pytestmark = [pytest.mark.exhaustive, pytest.mark.optimized]

test_value, test_extremes, test_mapping, test_derivatives, test_kinds = law_tests(ROWS)


def test_derivatives_of_pow_at_zero():
    for exponent, expected in ((0.0, 0.0), (1.0, 1.0), (2.0, 0.0), (0.5, np.inf)):
        assert slope(lax.pow, floats(0.0), floats(exponent)) == [expected]
    assert slope(lambda y, x: lax.pow(x, y), floats(2.0, 2.0), floats(0.0, 1.0)) == [0.0, 0.0]


def test_derivatives_of_integer_powers_at_zero():
    assert [slope(lambda x, y=y: lax.integer_pow(x, y), floats(0.0)) for y in range(4)] == [
        [0.0],
        [1.0],
        [0.0],
        [0.0],
    ]


def test_the_slope_of_abs_at_zero_is_one_as_in_the_field():
    assert slope(lax.abs, floats(-2.0, 0.0, 2.0)) == [-1.0, 1.0, 1.0]


def test_integers_have_no_negative_powers():
    with pytest.raises(
        TypeError, match=r"cannot be raised to the negative power -1; convert i32\[1\] to a float dtype"
    ):
        lax.integer_pow(ints(2), -1)


def test_the_modulus_is_infinite_where_a_part_is():
    inf, nan = np.inf, np.nan
    z = np.array(
        [complex(inf, nan), complex(nan, -inf), complex(nan, 1), complex(-inf, inf), 3 + 4j], "complex64"
    )
    np.testing.assert_array_equal(np.asarray(lax.abs(device_array(z))), np.float32([inf, inf, nan, inf, 5]))
