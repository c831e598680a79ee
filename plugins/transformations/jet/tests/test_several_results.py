"""Functions of which some results do not move: their rules say so, and the others have coefficients."""

import numpy as np
import pytest
import rabbet as rb
from rabbet.experimental.jet import jet

rnp = pytest.importorskip("rabbet.numpy")
pytestmark = pytest.mark.needs("jvp")
X = np.float32([1.0, 2.0, 4.0, 7.0])
Y = np.float32([1.0, -1.0, 2.0, 0.5])


@pytest.mark.parametrize("moving", [0, 1])
def test_least_squares(moving):
    pytest.importorskip("rabbet_vmap")

    def solved(x):
        a, b = (rnp.stack([x, x * x + 1.0], -1), Y) if moving == 0 else (rnp.stack([X, X * X], -1), x)
        return rnp.linalg.lstsq(a, b)[0]

    direction = np.float32([0.5, -0.25, 1.0, 0.125])
    at = lambda t: solved((X if moving == 0 else Y) + t * direction)
    terms = jet(solved, (X if moving == 0 else Y,), ([direction, np.zeros(4, "float32")],))[1]
    first = rb.jvp(at, (np.float32(0),), (np.float32(1),))[1]
    second = rb.jvp(lambda t: rb.jvp(at, (t,), (np.float32(1),))[1], (np.float32(0),), (np.float32(1),))[1]
    np.testing.assert_allclose(terms[0], first, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(terms[1], second, rtol=1e-3, atol=1e-4)
