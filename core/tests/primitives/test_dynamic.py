"""The laws of ``primitives/dynamic.py``, then its corners and messages."""

import numpy as np
import pytest
from rabbet import lax
from rabbet.testing.draws import device_array
from rabbet.testing.rows.dynamic import ROWS
from rabbet.testing.suite import law_tests

pytestmark = [pytest.mark.exhaustive, pytest.mark.optimized]

test_value, _, test_mapping, test_derivatives, _ = law_tests(ROWS)


def numbers(*shape):
    return device_array(np.arange(np.prod(shape)).reshape(shape).astype("float32"))


def test_negative_positions_count_from_the_end_and_are_clamped():
    x = numbers(5)
    for start, want in [(1, [1, 2]), (-2, [3, 4]), (-9, [0, 1]), (9, [3, 4])]:
        for position in (start, np.int32(start), device_array(np.int32(start)), device_array(np.int8(start))):
            assert lax.dynamic_slice(x, (position,), (2,)).tolist() == want
    assert lax.dynamic_slice(x, (-2,), (2,), allow_negative_indices=False).tolist() == [0, 1]
    assert lax.dynamic_slice(x, (device_array(np.uint8(3)),), (2,)).tolist() == [3, 4]


def test_narrow_positions_reach_the_end_of_long_arrays():
    x = numbers(300)
    assert lax.dynamic_slice(x, (device_array(np.int8(-2)),), (2,)).tolist() == [298, 299]
    assert lax.dynamic_slice(x, (device_array(np.uint8(255)),), (1,)).tolist() == [255]


def test_positions_as_a_vector_or_of_several_dtypes():
    x = numbers(3, 4)
    vector = device_array(np.array([1, -2], np.int32))
    np.testing.assert_array_equal(lax.dynamic_slice(x, vector, (2, 2)), np.asarray(x)[1:, 2:])
    mixed = (device_array(np.int32(1)), device_array(np.uint8(2)))
    np.testing.assert_array_equal(lax.dynamic_slice(x, mixed, (2, 2)), np.asarray(x)[1:, 2:])


def test_along_one_dimension():
    x = numbers(3, 4)
    host = np.asarray(x)
    np.testing.assert_array_equal(lax.dynamic_slice_in_dim(x, 1, 2, axis=-1), host[:, 1:3])
    np.testing.assert_array_equal(lax.dynamic_index_in_dim(x, -1, 0), host[-1:])
    np.testing.assert_array_equal(lax.dynamic_index_in_dim(x, 2, 1, keepdims=False), host[:, 2])
    np.testing.assert_array_equal(lax.index_in_dim(x, -1, 1, keepdims=False), host[:, -1])
    want = host.copy()
    want[:, 1:3] = 7
    sevens = device_array(np.full((3, 2), 7, np.float32))
    np.testing.assert_array_equal(lax.dynamic_update_slice_in_dim(x, sevens, 1, 1), want)
    want = host.copy()
    want[2] = 0
    np.testing.assert_array_equal(lax.dynamic_update_index_in_dim(x, np.zeros(4, np.float32), -1, 0), want)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda x: lax.dynamic_slice(x, (0,), (1, 1)), TypeError, "needs 2 start indices, got 1"),
        (lambda x: lax.dynamic_slice(x, (0, 0), (9, 1)), TypeError, "does not fit"),
        (lambda x: lax.dynamic_slice(x, (0, 0.5), (1, 1)), TypeError, "start indices are integers"),
        (lambda x: lax.dynamic_slice(x, (0, x[0]), (1, 1)), TypeError, "start indices are scalars"),
        (lambda x: lax.dynamic_update_slice(x, np.ones((1, 1), int), (0, 0)), TypeError, "must have the"),
        (lambda x: lax.index_in_dim(x, 3), IndexError, "index 3 is out of range for axis 0 of size 3"),
    ],
)  # fmt: skip
def test_messages(call, error, words):
    with pytest.raises(error, match=words):
        call(numbers(3, 4))
