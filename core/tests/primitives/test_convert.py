"""The laws of ``primitives/convert.py``, then its corners and messages."""

import numpy as np
import pytest
from rabbet import lax
from rabbet.testing.draws import device_array
from rabbet.testing.rows.convert import ROWS
from rabbet.testing.suite import law_tests

from .helpers import floats, slope

pytestmark = [pytest.mark.exhaustive, pytest.mark.optimized]

test_value, test_extremes, test_mapping, test_derivatives, test_kinds = law_tests(ROWS)


def test_integers_have_no_tangents_and_break_the_chain():
    def through_int(x):
        return lax.convert_element_type(lax.convert_element_type(x, np.int32), np.float32)

    assert slope(through_int, floats(1.5)) == [0.0]


def test_stop_gradient_is_a_constant_to_derivatives():
    assert slope(lambda x: lax.mul(x, lax.stop_gradient(x)), floats(3.0)) == [3.0]


def test_an_explicit_wide_dtype_is_kept():
    assert float(np.asarray(lax.full((1,), 0.1, np.float64))[0]) == 0.1
    assert int(np.asarray(lax.full((1,), 2**40, np.int64))[0]) == 2**40
    assert float(np.asarray(lax.convert_element_type(0.1, np.float64))) == 0.1


def test_bit_casts_say_what_does_not_fit():
    with pytest.raises(TypeError, match=r"of u8\[3\] to i32: the last dimension must be 4"):
        lax.bitcast_convert_type(device_array(np.zeros(3, np.uint8)), np.int32)
