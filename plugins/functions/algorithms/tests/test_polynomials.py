"""``polynomial`` and ``log2``: values against NumPy, dtypes, derivatives."""

import numpy as np
import pytest
from rabbet import lax


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "int32"])
def test_a_polynomial_is_that_of_numpy(dtype):
    x = np.array([-2, 0, 1, 3], dtype)
    out = lax.polynomial(x, [5, 0, -1, 2])
    np.testing.assert_allclose(out, np.polynomial.polynomial.polyval(x, [5, 0, -1, 2]), rtol=1e-6)
    assert out.dtype == lax.mul(x, x).dtype and out.shape == x.shape


def test_without_coefficients_it_is_zero():
    np.testing.assert_array_equal(lax.polynomial(np.ones(3, np.float32), []), np.zeros(3))
    np.testing.assert_array_equal(lax.polynomial(np.ones(3, np.float32), [2.0]), np.full(3, 2.0))
    assert int(lax.polynomial(2, [1, 2])) == 5


def test_coefficients_may_be_arrays():
    x = np.array([1.0, 2.0], np.float32)
    np.testing.assert_allclose(lax.polynomial(x, [x, 3 * x]), x + 3 * x * x)


def test_derivatives_of_a_polynomial():
    grad = pytest.importorskip("rabbet_autodiff").grad
    f = lambda x: lax.polynomial(x, [1.0, 2.0, 3.0])
    assert float(grad(f)(2.0)) == 14.0 and float(grad(grad(f))(2.0)) == 6.0


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "complex64"])
def test_log2(dtype):
    x = np.array([0.5, 1, 8, 3], dtype)
    out = lax.log2(x)
    np.testing.assert_allclose(out, np.log2(x), rtol=2e-3 if dtype == "float16" else 1e-6, atol=1e-7)
    assert out.dtype == lax.log(x).dtype
    with pytest.raises(TypeError, match="log"):
        lax.log2(3)
