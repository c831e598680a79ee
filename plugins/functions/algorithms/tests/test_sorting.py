"""The laws of sorting, then its corners and messages."""

import numpy as np
import pytest
from rabbet import dtypes, lax
from rabbet.testing.draws import device_array, floats
from rabbet.testing.slopes import gradient
from rabbet.testing.suite import law_tests
from rabbet_algorithms.rows.sorting import ROWS


def ints(*values):
    return device_array(np.array(values, np.int32))


test_value, test_extremes, test_mapping, test_derivatives, test_kinds = law_tests(ROWS)


def test_equal_keys_keep_their_order():
    keys, places = lax.sort_key_val(ints(2, 1, 2, 1), ints(0, 1, 2, 3))
    assert np.asarray(keys).tolist() == [1, 1, 2, 2]
    assert np.asarray(places).tolist() == [1, 3, 0, 2]


def test_zeros_are_equal_and_keep_their_signs():
    zeros = floats(0.0, -0.0, 0.0, -1.0)
    values, places = lax.sort((zeros, ints(0, 1, 2, 3)))
    assert np.asarray(places).tolist() == [3, 0, 1, 2]
    assert np.signbit(np.asarray(values)).tolist() == [True, False, True, False]
    for stable in (True, False):
        alone = np.asarray(lax.sort(zeros, is_stable=stable))
        assert np.signbit(alone).tolist() == [True, True, False, False]


@pytest.mark.forbidden("debug_nans")
def test_both_signs_of_nan_come_last():
    x = floats(np.nan, 1.0, -np.nan, np.inf)
    assert np.isnan(np.asarray(lax.sort(x))).tolist() == [False, False, True, True]


@pytest.mark.forbidden("debug_nans", "debug_infs")
def test_complex_numbers_with_nan_come_last():
    """As in NumPy: those without, by the real part; then NaN in the imaginary, in the real one, in both."""
    nan, inf = np.nan, np.inf
    parts = [(nan, 1), (2, nan), (inf, inf), (-inf, nan), (1, 2), (nan, nan), (-0.0, 3), (0, 1), (nan, -1)]
    z = np.array([complex(*p) for p in parts], "complex64")
    found, places = lax.sort((z, np.arange(len(z), dtype="int32")), num_keys=1)
    assert np.asarray(places).tolist() == np.argsort(z, kind="stable").tolist()
    np.testing.assert_array_equal(found, np.sort(z))
    np.testing.assert_array_equal(lax.sort(z), np.sort(z))


@pytest.mark.forbidden("debug_nans")
def test_both_signs_of_nan_are_the_largest():
    x = floats(np.nan, 1.0, -np.nan, np.inf)
    values, places = lax.top_k(x, 3)
    assert np.isnan(np.asarray(values)).tolist() == [True, True, False]
    assert np.asarray(places).tolist() == [0, 2, 3]


@pytest.mark.forbidden("debug_nans")
@pytest.mark.needs("float8_e5m2")
@pytest.mark.parametrize("name", ["float8_e4m3fnuz", "float8_e5m2fnuz", "float8_e5m2", "float8_e4m3fn"])
def test_nan_is_the_largest_in_formats_without_a_negative_zero(name):
    x = np.array([2.0, np.nan, -1.0, 3.0]).astype(getattr(dtypes, name))
    values, places = lax.top_k(x, 3)
    assert values.dtype == x.dtype
    assert np.asarray(places).tolist() == [1, 3, 0]


def test_empty_arrays():
    empty = lax.full((0, 3), 1.0)
    assert lax.sort(empty, 0).shape == (0, 3)
    assert [x.shape for x in lax.sort((empty, empty), 0, num_keys=2)] == [(0, 3), (0, 3)]
    assert lax.top_k(floats(1.0, 2.0), 0)[0].shape == (0,)
    assert gradient(lax.sort, floats()) == []
    assert gradient(lambda x: lax.top_k(x, 0)[0], floats(1.0, 2.0)) == [0, 0]


def test_top_k_along_another_axis():
    x = lax.reshape(lax.iota(np.float32, 6), (3, 2))
    values, places = lax.top_k(x, 2, axis=0)
    assert np.asarray(values).tolist() == [[4, 5], [2, 3]]
    assert np.asarray(places).tolist() == [[2, 2], [1, 1]]


def test_messages():
    with pytest.raises(ValueError, match="num_keys must be from 1 to the number of arrays, 2, got 3"):
        lax.sort((floats(1), floats(1)), num_keys=3)
    with pytest.raises(TypeError, match=r"all arrays must have one shape, got f32\[1\], f32\[2\]"):
        lax.sort((floats(1), floats(1, 2)))
    with pytest.raises(ValueError, match="sort: axis -1 is out of range for an array of 0 dimensions"):
        lax.sort(3.0)
    with pytest.raises(
        ValueError, match=r"k must be from 0 to the size of the last dimension of f32\[2\], got 3"
    ):
        lax.top_k(floats(1, 2), 3)


def test_numbers_of_few_bits(numbers, wide):
    x = numbers(1, -2, 4, -6, 3)
    assert wide(lax.sort(x)) == [-6, -2, 1, 3, 4]
    _, order = lax.sort((x, np.arange(5, dtype=np.int32)), num_keys=1)
    assert order.tolist() == [3, 1, 0, 4, 2]
    values, places = lax.top_k(x, 2)
    assert wide(values) == [4, 3] and places.tolist() == [2, 4]


def test_the_largest_come_as_a_list():
    """As under JAX, and so a tree that holds them is the same there."""
    x = floats(3.0, 1.0, 4.0)
    for found in (
        lax.top_k(x, 2),
        lax.top_k(x[None], 2, axis=1),
        lax.approx_max_k(x, 2),
        lax.approx_min_k(x, 2),
    ):
        assert type(found) is list
