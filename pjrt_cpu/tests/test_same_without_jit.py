"""Where a compiler would compute something else of a whole program than of its steps: NaN and infinity."""

import numpy as np
import pytest
import rabbet as rb
from rabbet import lax

pytestmark = [pytest.mark.optimized, pytest.mark.needs("jit")]

X = np.array([np.nan, np.inf, 1, -np.inf, -2, 0], "float32")
MASK = np.zeros(6, bool)


@pytest.mark.forbidden("debug_nans", "debug_infs")
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "complex64"])
def test_a_product_with_false_is_that_with_zero(dtype):
    x = lax.convert_element_type(X, dtype)
    with np.errstate(invalid="ignore"):
        wanted = np.asarray(x) * np.asarray(0, dtype)
    for f in (lambda x, mask: x * mask, lambda x, mask: x * lax.convert_element_type(mask, dtype)):
        np.testing.assert_array_equal(np.isnan(rb.jit(f)(x, MASK)), np.isnan(wanted))
        np.testing.assert_array_equal(np.isnan(f(x, MASK)), np.isnan(wanted))
        np.testing.assert_array_equal(rb.jit(f)(x, ~MASK)[4:], np.asarray(x)[4:])


POWERS = {
    "log": lambda x, y: lax.log(lax.pow(x, y)),
    "log of one power": lambda x, y: lax.log(x**0.7),
    "in a loop": lambda x, y: lax.fori_loop(0, 1, lambda i, c: lax.log(lax.pow(c, y)), x),
}


@pytest.mark.forbidden("debug_nans", "debug_infs")
@pytest.mark.parametrize("name", POWERS)
def test_a_logarithm_of_a_power_is_that_of_the_power(name):
    grid = np.meshgrid(np.float32([1, -1, -2, 2, 0, np.inf, 1e30]), np.float32([1, 3, np.inf, 0.5]))
    x, y = (v.ravel() for v in grid)
    f = POWERS[name]
    with np.errstate(all="ignore"):
        powers = np.power(x, np.float32(0.7) if "one" in name else y)
        wanted = np.log(powers)
    np.testing.assert_allclose(rb.jit(f)(x, y), wanted, rtol=1e-5)
