"""The laws of ``primitives/reductions.py``, then its corners and messages."""

import numpy as np
import pytest
from rabbet import lax
from rabbet.extend.primitive import Primitive
from rabbet.primitives.argmax_lowering import lower_in_pairs
from rabbet.testing.rows.reductions import ROWS
from rabbet.testing.suite import law_tests

from .helpers import floats, gradient

pytestmark = [pytest.mark.exhaustive, pytest.mark.optimized]

test_value, test_extremes, test_mapping, test_derivatives, test_kinds = law_tests(ROWS)


def test_reductions_of_nothing():
    empty = lax.full((0, 2), 1.0)
    assert np.asarray(lax.reduce_sum(empty, (0,))).tolist() == [0, 0]
    assert np.asarray(lax.reduce_prod(empty, (0,))).tolist() == [1, 1]
    assert np.asarray(lax.reduce_max(empty, (0,))).tolist() == [-np.inf, -np.inf]
    assert np.asarray(lax.reduce_min(lax.full((0,), 1), (0,))).tolist() == np.iinfo(np.int32).max
    with pytest.raises(ValueError, match=r"argmax: axis 0 of f32\[0,2\] is empty"):
        lax.argmax(empty, 0, np.int32)


NAN, INF = np.nan, np.inf
PLACES = [[2, 5, 5, 1], [1, 1, 0, 0], [NAN, 1, 2, 3], [3, NAN, NAN, 1], [-INF] * 4, [0, -0.0, -1, 0]]


@pytest.mark.parametrize("dtype", ["float32", "float16", "int32", "uint8", "bool"])
@pytest.mark.parametrize("greatest", [True, False])
def test_places_of_extremes_by_pairs(dtype, greatest):
    """As on platforms whose compiler takes no notice of a barrier."""
    place = Primitive("place", lambda x, axes: x.update(shape=x.shape[:1], dtype=np.dtype("int32")))
    place.rule("lower")(lambda op, x: lower_in_pairs(op, x, greatest, by_levels=False))
    x = np.array(PLACES if dtype.startswith("f") else [[2, 5, 5, 1], [0, 0, 1, 1]]).astype(dtype)
    np.testing.assert_array_equal(place(x, axes=(1,)), (np.argmax if greatest else np.argmin)(x, 1))


def test_the_greatest_share_the_derivative():
    assert gradient(lambda x: lax.reduce_max(x, (0,)), floats(1.0, 3.0, 3.0)) == [0.0, 0.5, 0.5]


def test_the_derivative_of_a_product_with_zeros():
    assert gradient(lambda x: lax.reduce_prod(x, (0,)), floats(0.0, 3.0, 2.0)) == [6.0, 0.0, 0.0]
    assert gradient(lambda x: lax.reduce_prod(x, (0,)), floats(0.0, 3.0, 0.0)) == [0.0, 0.0, 0.0]


def test_axes_count_from_the_end():
    x = lax.full((2, 3), 1.0)
    assert lax.reduce_sum(x, (-1,)).shape == (2,)
    assert lax.argmin(x, -2, np.uint8).dtype == np.uint8


def test_messages():
    x = floats(1, 2)
    with pytest.raises(ValueError, match="reduce_sum: axis 1 is out of range for an array of 1 dimension"):
        lax.reduce_sum(x, (1,))
    with pytest.raises(ValueError, match=r"reduce_sum: axes \(0, 0\) repeat one"):
        lax.reduce_sum(x, (0, -1))
    with pytest.raises(TypeError, match=r"reduce_and takes boolean or .* arrays, got f32\[2\]"):
        lax.reduce_and(x, (0,))
    with pytest.raises(TypeError, match="index_dtype must be an integer dtype, got float32"):
        lax.argmax(x, 0, np.float32)
