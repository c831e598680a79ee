"""The laws of ``primitives/cumulative.py``, then its corners and messages."""

import numpy as np
import pytest
from rabbet import lax
from rabbet.testing.draws import device_array
from rabbet.testing.rows.cumulative import ROWS
from rabbet.testing.suite import law_tests

from .helpers import floats, gradient

test_value, test_extremes, test_mapping, test_derivatives, test_kinds = law_tests(ROWS)


def test_sizes_zero_and_one():
    for fn in (lax.cumsum, lax.cumprod, lax.cummax, lax.cummin, lax.cumlogsumexp):
        assert fn(lax.full((0, 2), 1.0)).shape == (0, 2)
        assert np.asarray(fn(floats(3.0))).tolist() == [3.0]


def test_odd_and_even_sizes_of_the_written_out_scan():
    for n in range(1, 10):
        values = np.linspace(-1.5, 2.0, n).astype(np.float32)
        terms = [np.prod(np.delete(values[: i + 1], j)) for i in range(n) for j in range(i + 1)]
        total = sum(gradient(lax.cumprod, floats(*values)))
        assert np.isclose(total, sum(terms), rtol=1e-4)


def test_the_nearest_of_equal_elements_has_the_derivative():
    assert gradient(lambda x: lax.cummax(x)[2:], floats(3.0, 3.0, 2.0)) == [0.0, 1.0, 0.0]
    assert gradient(lambda x: lax.cummin(x, reverse=True)[:1], floats(4.0, 3.0, 3.0)) == [0.0, 1.0, 0.0]


def test_the_derivative_of_cumlogsumexp_from_minus_infinity():
    assert gradient(lax.cumlogsumexp, floats(-np.inf, 0.0)) == [1.0, 1.0]


def test_a_long_axis_goes_by_rows():
    x = np.random.default_rng(0).normal(size=(2, 700, 2)).astype(np.float32) * 5
    x[0, 3:5, 0], x[1, 600, 0] = -np.inf, np.nan
    with np.errstate(invalid="ignore"):
        wanted = np.logaddexp.accumulate(x[:, ::-1].astype(np.float64), axis=1)[:, ::-1]
    found = lax.cumlogsumexp(device_array(x), 1, reverse=True)
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-5)


def test_complex_numbers_and_halves():
    x = np.array([1 + 2j, 3 - 1j, 900, 900 + 1j], np.complex64)
    wanted = np.array([x[0], np.log(np.exp(x[0]) + np.exp(x[1])), x[2], x[2]])
    wanted[3] += np.log(1 + np.exp(1j))
    np.testing.assert_allclose(lax.cumlogsumexp(device_array(x)), wanted, rtol=1e-5)
    halves = lax.cumsum(device_array(np.full(300, 10.25, np.float16)))  # 2048 + 10.25 is no half
    assert halves.dtype == np.float16 and float(halves[299]) == 3076


def test_messages():
    with pytest.raises(ValueError, match="cumsum: axis 1 is out of range for an array of 1 dimensions"):
        lax.cumsum(floats(1, 2), 1)
    with pytest.raises(TypeError, match=r"cummax takes .* arrays, got bool\[1\]"):
        lax.cummax(lax.eq(floats(1), 1.0))
