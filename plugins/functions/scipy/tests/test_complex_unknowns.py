"""Complex numbers where a sign is a direction, and where a minimum is looked for."""

import numpy as np
import pytest
import rabbet.numpy as rnp
from rabbet.scipy import special
from rabbet.scipy.optimize import minimize


def test_the_sign_of_a_complex_sum():
    x = rnp.array([1 + 1j, 2 - 1j, 90 + 2j])
    size, sign = special.logsumexp(x, return_sign=True)
    assert size.dtype == np.float32
    exact = np.exp(np.asarray(x, complex) - 90).sum()
    np.testing.assert_allclose(np.asarray(sign) * np.exp(float(size) - 90), exact, rtol=1e-5)
    np.testing.assert_allclose(special.logsumexp(x), np.log(exact) + 90, rtol=1e-6)


@pytest.mark.forbidden("enable_x64")
def test_a_minimum_among_complex_numbers():
    goal = rnp.array([1 + 2j, -1j])
    for method in ("BFGS", "l-bfgs"):
        out = minimize(lambda z: rnp.sum(rnp.abs(z - goal) ** 2), rnp.zeros(2, "complex64"), method=method)
        np.testing.assert_allclose(out.x, goal, atol=1e-3)
        assert out.jac.dtype == np.complex64
