"""Functions of a NaN that the compiler knows: they had any value."""

import numpy as np
import pytest
import rabbet as rb
from rabbet import lax

pytestmark = [pytest.mark.optimized, pytest.mark.needs("jit")]

FUNCTIONS = {
    "exp": lax.exp, "exp2": lax.exp2, "logistic": lax.logistic, "tanh": lax.tanh, "expm1": lax.expm1,
    "cosh": lax.cosh, "sinh": lax.sinh, "erf": lax.erf, "erfc": lax.erfc, "log1p": lax.log1p,
}  # fmt: skip
X = np.linspace(0.1, 0.9, 9).astype("float32")


@pytest.mark.forbidden("debug_nans", "debug_infs")
@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_of_a_known_nan_is_nan(name):
    function = FUNCTIONS[name]
    assert np.isnan(rb.jit(lambda x: function(x + np.nan))(X)).all()
    assert np.isfinite(rb.jit(function)(X)).all()


@pytest.mark.forbidden("debug_nans", "debug_infs")
@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_of_what_a_flag_makes_nan_is_nan(name):
    function = FUNCTIONS[name]
    flagged = rb.jit(lambda x, flag: function(lax.select(flag, x, lax.full_like(x, np.nan))))
    assert np.isnan(flagged(X, False)).all()
    np.testing.assert_allclose(flagged(X, True), function(X), rtol=1e-6)


def test_programs_without_a_nan_pay_nothing():
    assert "select" not in rb.jit(lax.exp).lower(X).as_text()
    assert "select" in rb.jit(lambda x: lax.exp(x + np.nan)).lower(X).as_text()
