"""The laws of running reductions, then its corners and messages."""

import numpy as np
import pytest
from rabbet import dtypes, lax
from rabbet.testing import driver
from rabbet.testing.draws import device_array, floats
from rabbet.testing.slopes import gradient
from rabbet.testing.suite import law_tests
from rabbet_algorithms.rows.cumulative import ROWS

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


@pytest.mark.forbidden("debug_nans", "debug_infs")
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
    with pytest.raises(ValueError, match="cumsum: axis 1 is out of range for an array of 1 dimension"):
        lax.cumsum(floats(1, 2), 1)
    with pytest.raises(TypeError, match=r"cummax takes .* arrays, got bool\[1\]"):
        lax.cummax(lax.eq(floats(1), 1.0))


TIES = np.array([[1 + 2j, 3 - 1j, 0.5, 2], [1 + 3j, 3 - 2j, 0.5 - 1j, complex("nan")]], np.complex64)


@pytest.mark.forbidden("debug_nans")
@pytest.mark.parametrize("name, of", [("cummax", np.maximum), ("cummin", np.minimum)])
def test_complex_numbers_go_by_their_real_parts_first(name, of):
    found, wanted = getattr(lax, name)(device_array(TIES), 1), of.accumulate(TIES, 1)
    np.testing.assert_array_equal(np.isnan(found), np.isnan(wanted))
    np.testing.assert_array_equal(np.nan_to_num(np.asarray(found)), np.nan_to_num(wanted))


def test_the_derivative_goes_to_the_complex_number_that_counts():
    step = device_array(np.arange(1.0, 7.0).reshape(2, 3).astype(np.complex64))
    _, (moved,) = driver.jvp(lambda x: (lax.cummin(x, 1),), (device_array(TIES[:, :3]),), (step,))
    assert np.asarray(moved).tolist() == [[1, 1, 3], [4, 4, 6]]


def test_extremes_of_few_bits(numbers, wide):
    x = numbers(1, -2, 4, -6, 3)
    assert wide(lax.cummax(x)) == [1, 1, 4, 4, 4] and wide(lax.cummin(x)) == [1, -2, -2, -6, -6]


def test_a_running_sum_of_exponentials_of_few_bits_has_a_derivative(numbers, wide):
    x = numbers(1, 0, 2)
    if dtypes.kind(x.dtype) != "f" or not dtypes.spec(x.dtype).nan:
        pytest.skip("it has no exponentials, or no NaN")
    _, (moved,) = driver.jvp(lambda x: (lax.cumlogsumexp(x),), (x,), (numbers(1, 1, 1),))
    assert np.allclose(wide(moved), 1.0, atol=0.15)
