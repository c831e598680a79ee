"""The laws of ``primitives/elementwise.py``, then its corners and messages."""

import inspect

import numpy as np
import pytest
import rabbet as rb
from rabbet import lax
from rabbet.testing.draws import device_array
from rabbet.testing.rows.elementwise import ROWS
from rabbet.testing.suite import law_tests

from .helpers import floats, ints, slope

pytestmark = [pytest.mark.exhaustive, pytest.mark.optimized]

test_value, test_extremes, test_mapping, test_derivatives, test_kinds = law_tests(ROWS)


def test_a_tie_of_max_shares_the_derivative():
    assert slope(lax.max, floats(1.0, 2.0, 3.0), floats(2.0, 2.0, 2.0)) == [0.0, 0.5, 1.0]
    assert slope(lax.min, floats(1.0, 2.0, 3.0), floats(2.0, 2.0, 2.0)) == [1.0, 0.5, 0.0]


def test_rounding_and_sign_have_derivative_zero():
    for fn in (lax.floor, lax.ceil, lax.sign, lax.round):
        assert slope(fn, floats(-1.5, 0.0, 2.5)) == [0.0, 0.0, 0.0]


def test_derivatives_at_zero():
    assert slope(lax.cbrt, floats(0.0, -0.0, np.inf)) == [np.inf, np.inf, 0]
    zero = lambda x: lax.real(lax.sign(lax.complex(x, lax.mul(x, 0.0))))
    assert slope(zero, floats(0.0, 2.0)) == [0, 0]


def test_python_numbers_adopt_the_dtype_of_the_arrays():
    assert lax.mul(ints(1, 2), 3).dtype == np.int32
    assert lax.mul(2.0, 3.0).weak_type
    with pytest.raises(TypeError, match=r"add takes arrays of one dtype, got i32\[1\], f32\[\]"):
        lax.add(ints(1), 1.5)
    with pytest.raises(OverflowError, match="300 does not fit int8"):
        lax.add(device_array(np.ones(1, np.int8)), 300)


@pytest.mark.parametrize(
    "fn, of",
    [(lax.add, np.add), (lax.pow, np.power), (lax.lt, np.less), (lax.atan2, np.arctan2)],
    ids=lambda fn: getattr(fn, "name", None),
)
def test_sizes_of_1_are_spread_beside_others(fn, of):
    x, y = np.array([[1.0], [2.0]], np.float32), np.array([[3.0, 1.0, 2.0]], np.float32)
    got = fn(device_array(x), y)
    assert got.shape == (2, 3)
    assert np.allclose(np.asarray(got), of(x, y), rtol=1e-6)
    assert fn(device_array(np.ones((1, 0), np.float32)), x).shape == (2, 0)


@pytest.mark.needs("grad", "vmap", "numpy")
def test_sizes_of_1_are_spread_under_transformations():
    x, y = device_array(np.ones((2, 1), np.float32)), floats(1.0, 2.0, 3.0).reshape(1, 3)
    of_x, of_y = rb.grad(lambda x, y: lax.mul(x, y).sum(), argnums=(0, 1))(x, y)
    assert of_x.tolist() == [[6.0], [6.0]] and of_y.tolist() == [[2.0, 2.0, 2.0]]
    stacked = lax.concatenate([x[None], x[None]], 0)
    assert rb.vmap(lax.mul, in_axes=(0, None))(stacked, y).shape == (2, 2, 3)
    with pytest.raises(TypeError, match=r"add takes arrays of one shape .* got f32\[3\], f32\[3,1\]"):
        rb.vmap(lax.add, in_axes=(0, None))(floats(*range(9)).reshape(3, 3), y.reshape(3, 1))


def test_products_in_another_dtype():
    found = lax.mul(device_array(np.array([100, 3], np.int8)), ints(100, 2), out_dtype=np.int32)
    assert found.dtype == np.int32 and found.tolist() == [10000, 6]
    assert lax.mul(x=floats(1.5), y=2.0, out_dtype="float16").dtype == np.float16
    assert str(inspect.signature(lax.mul)) == "(x, y, *, out_dtype=None)"


def test_operands_must_agree():
    with pytest.raises(TypeError, match=r"add takes arrays of one shape .* got f32\[2\], f32\[3\]"):
        lax.add(floats(1, 2), floats(1, 2, 3))
    with pytest.raises(TypeError, match=r"add takes arrays of one dtype, got f32\[1\], i32\[1\]; convert"):
        lax.add(floats(1), ints(1))
    with pytest.raises(TypeError, match=r"sin takes floating or complex arrays, got i32\[1\]"):
        lax.sin(ints(1))
