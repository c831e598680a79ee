"""Derivatives of matrix functions where eigenvalues are equal: both modes against central differences."""

import numpy as np
import pytest
import rabbet as rb
import rabbet.numpy as rnp
from rabbet.scipy import linalg

pytestmark = pytest.mark.needs("grad", "jvp", "vmap")

FUNCTIONS = {
    "polar": lambda a: linalg.polar(a)[0],
    "sqrtm": linalg.sqrtm,
    "inverse sqrtm": lambda a: rnp.linalg.inv(linalg.sqrtm(a)),
    "logm": linalg.logm,
    "pinv": rnp.linalg.pinv,
    "lstsq": lambda a: rnp.linalg.lstsq(a, rnp.eye(3))[0],
    "expm": linalg.expm,
    "funm": lambda a: linalg.funm(a, rnp.log),
    "funm_hermitian": lambda a: linalg.funm_hermitian(a, rnp.log),
    "matrix_power": lambda a: rnp.linalg.matrix_power(a, -3),
    "fractional_matrix_power": lambda a: linalg.fractional_matrix_power(a, -0.5),
    "nuclear norm": lambda a: rnp.linalg.norm(a, "nuc"),
    "spectral norm": lambda a: rnp.linalg.norm(a, 2),
}
RANDOM = np.random.default_rng(0)
TURN = np.linalg.qr(RANDOM.normal(size=(3, 3)) + 1j * RANDOM.normal(size=(3, 3)))[0]
EQUAL = np.diag([4.0, 1.0, 1.0])
# Equal exactly, and equal but for rounding, where a quotient of differences would be a wrong number.
MATRICES = {"real": EQUAL, "complex": TURN @ EQUAL @ TURN.conj().T}


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("kind", MATRICES)
def test_functions_of_matrices_with_equal_eigenvalues_have_derivatives(name, kind):
    a = MATRICES[kind]
    weights, change = RANDOM.normal(size=(2, 3, 3))

    def weighted(x):
        return rnp.sum(rnp.real(FUNCTIONS[name](x)) * weights)

    with rb.config.override(enable_x64=True):
        step = 1e-5 * change
        wanted = (float(weighted(rnp.asarray(a + step))) - float(weighted(rnp.asarray(a - step)))) / 2e-5
        forward = rb.jvp(weighted, (rnp.asarray(a),), (rnp.asarray(change.astype(a.dtype)),))[1]
        reverse = rb.vmap(rb.grad(weighted))(rnp.asarray(np.stack([a, 2 * a])))[0]
    np.testing.assert_allclose(forward, wanted, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(np.sum(np.asarray(reverse) * change).real, wanted, rtol=1e-6, atol=1e-8)
