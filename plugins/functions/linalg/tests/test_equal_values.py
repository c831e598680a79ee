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


@pytest.mark.needs("jacrev", "jacfwd", "vmap")
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_values_that_differ_by_rounding_alone_count_as_equal(dtype):
    """A derivative by way of their vectors is no number rather than a wrong one; beside them nothing changes.
    How rounding turns out differs from matrix to matrix.
    """
    random = np.random.default_rng(0)
    with rb.config.override(enable_x64=True):
        for n in (3, 12):
            turn, other = np.linalg.qr(random.normal(size=(2, n, n)))[0]
            values = np.diag([4.0, *[1.0] * (n - 1)])
            a, b = (turn @ values @ turn.T).astype(dtype), (turn @ values @ other).astype(dtype)

            def root(a):
                v, w = lax.linalg.eigh((a + a.T) / 2)
                return ((v * (1 / w**0.5)) @ v.T)[0, 1]

            def unitary(b):
                u, _, vh = lax.linalg.svd(b, full_matrices=False)
                return (u @ vh)[0, 1]

            for mode in (rb.jacrev, rb.jacfwd):
                assert not np.isfinite(mode(root)(a)).all()
                assert not np.isfinite(mode(unitary)(b)).all()
                found = mode(lambda a: projector(a, slice(-1, None))[0, 1])(a)
                first = turn[:, 0]
                resolvent = (np.eye(n) - np.outer(first, first)) / 3
                wanted = np.outer(resolvent[0], first * first[1]) + np.outer(resolvent[1], first * first[0])
                tolerance = 1e-4 if dtype == "float32" else 1e-11
                np.testing.assert_allclose(found, (wanted + wanted.T) / 2, atol=tolerance)
