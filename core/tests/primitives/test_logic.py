"""The laws of ``primitives/logic.py``, then its corners and messages."""

import numpy as np
import pytest
from rabbet import lax
from rabbet.testing import driver
from rabbet.testing.draws import device_array
from rabbet.testing.rows.logic import ROWS
from rabbet.testing.suite import law_tests

from .helpers import floats, gradient, ints, slope

pytestmark = [pytest.mark.exhaustive, pytest.mark.optimized]

test_value, test_extremes, test_mapping, test_derivatives, test_kinds = law_tests(ROWS)


def test_clamp_moves_with_its_bounds_only_where_they_hold():
    assert slope(lax.clamp, floats(0.0, 0.0, 0.0), floats(-1.0, 0.5, 2.0), floats(1.0, 1.0, 1.0)) == [
        1.0,
        0.0,
        0.0,
    ]
    assert slope(lambda x: lax.clamp(0.0, x, 1.0), floats(-1.0, 0.0, 0.5, 1.0, 2.0)) == [
        0.0,
        1.0,
        1.0,
        1.0,
        0.0,
    ]


def test_selection_hides_the_derivative_of_the_other_case():
    def safe(x):
        positive = lax.gt(x, 0.0)
        return lax.select(
            positive, lax.log(lax.select(positive, x, lax.full_like(x, 1))), lax.full_like(x, 0)
        )

    assert gradient(safe, floats(0.0, 2.0)) == [0.0, 0.5]


def test_an_index_beyond_the_cases_takes_the_last():
    assert np.asarray(lax.select_n(ints(0, 1, 7), ints(1, 1, 1), ints(2, 2, 2), ints(3, 3, 3))).tolist() == [
        1,
        2,
        3,
    ]


def test_messages():
    with pytest.raises(TypeError, match=r"chooses by a boolean or integer array, got f32\[1\]"):
        lax.select_n(floats(1), floats(1), floats(1))
    with pytest.raises(TypeError, match="boolean selector takes at most 2 cases, got 3"):
        lax.select_n(lax.gt(floats(1), 0.0), floats(1), floats(1), floats(1))
    with pytest.raises(
        TypeError, match=r"clamp: bounds are scalars or have the shape of f32\[1\], got f32\[2\]"
    ):
        lax.clamp(floats(1, 2), floats(1), 1.0)


def test_numbers_among_the_cases_under_transformations():
    """A bare number takes the dtype of the arrays beside it, also where a rule meets it."""
    x = device_array(np.array([-1.0, 2.0]))

    def positive(x):
        return (lax.select_n(lax.gt(x, 0.0), 1.0, x),)

    (tangent,) = driver.jvp(positive, (x,), (x,))[1]
    assert np.asarray(tangent).tolist() == [0.0, 2.0] and tangent.dtype == np.float64
    (mapped,) = driver.vmap(positive, (0,))(x)
    assert np.asarray(mapped).tolist() == [1.0, 2.0] and mapped.dtype == np.float64
