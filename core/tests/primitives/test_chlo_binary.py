"""The laws of neighbouring floats and of the upper half of a product, then corners."""

import numpy as np
import pytest
from rabbet import lax
from rabbet.testing.draws import device_array, floats
from rabbet.testing.rows.chlo_binary import ROWS
from rabbet.testing.slopes import slope
from rabbet.testing.suite import law_tests

pytestmark = [pytest.mark.exhaustive, pytest.mark.optimized]

test_value, test_extremes, test_mapping, test_derivatives, test_kinds = law_tests(ROWS)


def test_neighbours_of_all_kinds_of_numbers():
    x = np.array([0.0, -0.0, 1.0, -1.0, np.inf, 3.4e38, np.nan, 5.0], np.float32)
    for towards in (np.inf, -np.inf, 5.0, np.nan):
        y = np.full_like(x, towards)
        got = np.asarray(lax.nextafter(device_array(x), device_array(y)))
        np.testing.assert_array_equal(got, np.nextafter(x, y))


def test_a_neighbour_moves_along():
    assert slope(lax.nextafter, floats(1.0), floats(2.0)) == [1.0]
