"""Derivatives beside equal eigenvalues and singular values: what treats their vectors alike has them."""

import numpy as np
import pytest
import rabbet as rb
from rabbet import lax

EQUAL = np.diag([4.0, 1.0, 1.0]).astype("float32")


def projector(a, columns):
    """On the space of some eigenvectors, of the symmetric part."""
    v, _ = lax.linalg.eigh((a + a.T) / 2)
    return v[:, columns] @ v[:, columns].T


@pytest.mark.needs("jacrev", "vmap")
@pytest.mark.parametrize("columns", [slice(2, 3), slice(0, 2)])
def test_projectors_beside_equal_eigenvalues_have_derivatives(columns):
    """On the space of the largest eigenvalue, and on that of both equal ones, which is the rest. Of these,
    forward mode moves each by itself, which is not defined; reverse mode knows that both are treated alike.
    """
    sign = 1 if columns.start == 2 else -1
    for mode in (rb.jacfwd, rb.jacrev) if sign > 0 else (rb.jacrev,):
        out = mode(lambda a: projector(a, columns)[0, 1])(EQUAL)
        np.testing.assert_allclose(out, sign * np.array([[0, 1, 0], [1, 0, 0], [0, 0, 0]]) / 6, atol=1e-6)
    twice = rb.jacrev(rb.jacrev(lambda a: projector(a, columns)[0, 1]))(EQUAL)
    np.testing.assert_allclose(twice[0, 1], sign * np.diag([-1, 1, 0]) / 18, atol=1e-6)
    batch = rb.vmap(rb.jacrev(lambda a: projector(a, columns)[0, 1]))(np.stack([EQUAL, 2 * EQUAL]))
    np.testing.assert_allclose(batch[:, 0, 1], sign * np.array([1 / 6, 1 / 12]), atol=1e-6)


@pytest.mark.needs("jacrev", "vmap")
def test_vectors_of_equal_eigenvalues_have_no_derivative():
    out = rb.jacrev(lambda a: lax.linalg.eigh((a + a.T) / 2)[0][2, 0])(EQUAL)
    assert not np.isfinite(out).all()


@pytest.mark.needs("jacrev", "vmap")
def test_singular_vectors_beside_equal_values_have_derivatives():
    def leading(a):
        u, _, vh = lax.linalg.svd(a, full_matrices=False)
        return u[0, 0] * vh[0, 1]

    for mode in (rb.jacfwd, rb.jacrev):
        wanted = np.array([[0, 4, 0], [1, 0, 0], [0, 0, 0]]) / 15
        np.testing.assert_allclose(mode(leading)(EQUAL), wanted, atol=1e-6)
