"""Functions of a NaN that the compiler knows: with jaxlib 0.10 they had any value."""

import numpy as np
import pytest
import rabbet as rb
from rabbet import lax

pytestmark = [pytest.mark.optimized, pytest.mark.needs("jit")]

FUNCTIONS = {"exp": lax.exp, "exp2": lax.exp2, "logistic": lax.logistic, "tanh": lax.tanh, "expm1": lax.expm1}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_of_a_known_nan_is_nan(name):
    x = np.linspace(0.1, 0.9, 64).astype("float32")
    assert np.isnan(rb.jit(lambda x: FUNCTIONS[name](x + np.nan))(x)).all()
    assert np.isfinite(rb.jit(FUNCTIONS[name])(x)).all()
