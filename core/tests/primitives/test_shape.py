"""The laws of ``primitives/shape.py``, then its corners and messages."""

import numpy as np
import pytest
from rabbet import lax
from rabbet.testing.rows.shape import ROWS
from rabbet.testing.suite import law_tests

from .helpers import floats

pytestmark = [pytest.mark.exhaustive, pytest.mark.optimized]

test_value, test_extremes, test_mapping, test_derivatives, test_kinds = law_tests(ROWS)


def test_empty_arrays():
    empty = lax.full((0, 3), 1.0)
    assert lax.transpose(empty, (1, 0)).shape == (3, 0)
    assert lax.concatenate([empty, lax.full((2, 3), 1.0)], 0).shape == (2, 3)
    assert lax.pad(empty, 0.0, [(1, 1, 2), (0, 0, 0)]).shape == (2, 3)
    assert lax.reshape(empty, (3, 0)).shape == (3, 0)


def test_negative_axes_count_from_the_end():
    x = lax.reshape(lax.iota(np.float32, 6), (2, 3))
    assert lax.expand_dims(x, (-1,)).shape == (2, 3, 1)
    assert lax.squeeze(lax.expand_dims(x, (0, 3)), (-1, 0)).shape == (2, 3)
    assert lax.slice_in_dim(x, -1, None, axis=-1).shape == (2, 1)
    assert lax.concatenate([x, x], -1).shape == (2, 6)


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda x: lax.reshape(x, (2, 2)), r"cannot reshape array f32\[3\] of 3 elements to \(2, 2\) of 4"),
        (lambda x: lax.slice(x, (1,), (5,)), r"slice of f32\[3\]: need 0 <= start <= limit <= size"),
        (lambda x: lax.transpose(x, (1,)), r"\(1,\) is not a permutation of the dimensions of f32\[3\]"),
        (lambda x: lax.squeeze(x, (0,)), r"dimension 0 of f32\[3\] has size 3, only size 1 can be removed"),
        (lambda x: lax.broadcast_in_dim(x, (4,), (0,)), r"cannot broadcast f32\[3\] to the shape \(4,\)"),
        (
            lambda x: lax.concatenate([x, lax.expand_dims(x, (0,))], 0),
            r"shapes must agree in all dimensions but 0",
        ),
        (lambda x: lax.pad(x, 0.0, [(-2, -2, 0)]), r"gives the shape \(-1,\)"),
    ],
)
def test_messages(call, message):
    with pytest.raises((TypeError, ValueError), match=message):
        call(floats(1, 2, 3))
