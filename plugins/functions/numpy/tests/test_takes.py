"""What is taken: computed places, one-hot choices, things that tell a shape and a dtype, numbers on a
device.
"""

import numpy as np
import pytest
import rabbet as rb
import rabbet.numpy as rnp


@pytest.mark.needs("jit")
def test_insert_before_a_computed_place():
    x = rnp.arange(6).reshape(2, 3)
    for place in (0, 1, 3, -1):
        for values, axis in ((7, 1), (7, None), ([8, 9], 1)):
            found = rb.jit(lambda i, v=values, a=axis: rnp.insert(x, i, rnp.array(v), a))(place)
            np.testing.assert_array_equal(found, np.insert(np.asarray(x), place, values, axis))


def test_one_hot_choices():
    x = rnp.array([[1.0, np.inf, 3.0], [4.0, 5.0, 6.0]])
    at = rnp.array([[2, 0, -1], [1, 7, 0]])
    found = rnp.take_along_axis(x, at, axis=1, mode="one_hot")
    np.testing.assert_array_equal(found, [[3, 1, 3], [5, 0, 4]])
    assert rnp.take_along_axis(x > 3, at, axis=1, mode="one_hot").dtype == bool


class Described:
    shape, dtype = (2, 3), np.dtype("float32")

    def __jax_array__(self):
        raise AssertionError("its values are not asked for")


@pytest.mark.narrow
def test_likes_ask_for_no_values():
    for like in (rnp.zeros_like, rnp.ones_like, rnp.empty_like, lambda d: rnp.full_like(d, 2.0)):
        assert like(Described()).shape == (2, 3)
    assert rnp.zeros_like(np.zeros(2)).dtype == np.float32


def test_ranges_of_numbers_move_nothing():
    with rb.config.override(transfer_guard_host_to_device="disallow"):
        assert rnp.arange(5.0).shape == rnp.arange(1, 6).shape == (5,)
    with pytest.raises(TypeError, match="no order"):
        rnp.arange(3 + 0j)


def test_vectorize_names_a_missing_array():
    f = rnp.vectorize(lambda a, b: a, signature="(k),(k)->(k)")
    with pytest.raises(ValueError, match="argument 1 is None"):
        f(rnp.ones(3), None)


def test_dtypes_that_only_numpy_has():
    assert not rnp.issubdtype(np.dtype(object), rnp.floating) and rnp.issubdtype(np.dtype(object), np.generic)
