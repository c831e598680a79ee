"""A few eigenvalues of Hermitian maps, and their derivatives."""

import numpy as np
import pytest
import rabbet as rb
import rabbet.numpy as rnp
from rabbet.experimental import sparse
from rabbet.experimental.sparse.linalg import eigsh

RANDOM = np.random.default_rng(0)
N = 24
REAL = RANDOM.normal(size=(N, N))
COMPLEX = REAL + 1j * RANDOM.normal(size=(N, N))
REAL, COMPLEX = REAL + REAL.T, COMPLEX + COMPLEX.conj().T


@pytest.fixture(autouse=True)
def wide():
    with rb.config.override(enable_x64=True):
        yield


def chosen(w, which, k):
    """The same by all eigenvalues."""
    by = {"LM": -abs(w), "SM": abs(w), "LA": -w, "SA": w}
    if which == "BE":
        return np.sort(np.concatenate([w[: k // 2], w[len(w) - (k + 1) // 2 :]]))
    return np.sort(w[np.argsort(by[which])[:k]])


@pytest.mark.parametrize(
    ("which", "kind", "near"),
    [
        ("LM", "float32", 1e-4),
        ("SM", "float64", 1e-11),
        ("SA", "float64", 1e-11),
        ("BE", "complex128", 1e-11),
    ],
)
def test_as_by_all_eigenvalues(which, kind, near):
    a = (COMPLEX if kind == "complex128" else REAL).astype(kind)
    w, v = eigsh(a, 5, which)
    assert (w.dtype, v.dtype) == (np.dtype("float32" if kind == "float32" else "float64"), kind)
    np.testing.assert_allclose(w, chosen(np.linalg.eigvalsh(a), which, 5), atol=near)
    np.testing.assert_allclose(a @ np.asarray(v), np.asarray(v) * np.asarray(w), atol=near)
    np.testing.assert_allclose(np.conj(v).T @ np.asarray(v), np.eye(5), atol=near)


def laplace(x):
    """A chain: what lies beside each number is taken from twice it."""
    return 2 * x - rnp.roll(x, 1).at[0].set(0) - rnp.roll(x, -1).at[-1].set(0)


@pytest.mark.needs("jit")
def test_a_function_of_vectors_and_a_sparse_matrix():
    n = 200
    wanted = 2 - 2 * np.cos(np.pi * np.arange(1, n + 1) / (n + 1))
    # Large numbers are near each other here, so many starts are needed.
    w, _ = rb.jit(lambda v0: eigsh(laplace, 3, "LA", v0=v0, ncv=40))(rnp.asarray(RANDOM.normal(size=n)))
    np.testing.assert_allclose(w, wanted[-3:], rtol=1e-11)
    matrix = 2 * sparse.eye(n) - sparse.eye(n, k=1) - sparse.eye(n, k=-1)
    w = eigsh(matrix, 3, "SA", ncv=40, return_eigenvectors=False)
    np.testing.assert_allclose(w, wanted[:3], rtol=1e-6)


def test_small_and_special_matrices():
    np.testing.assert_allclose(eigsh(rnp.eye(4), 4)[0], 1, rtol=1e-12)
    np.testing.assert_allclose(eigsh(rnp.diag(rnp.arange(1.0, 5.0)), 4)[0], [1, 2, 3, 4], rtol=1e-12)
    np.testing.assert_allclose(eigsh(rnp.zeros((4, 4)), 4)[0], 0, atol=1e-300)
    # An eigenvector to start with: nothing new comes out of it.
    found = eigsh(lambda x: x * rnp.arange(30.0), 2, "LA", v0=rnp.eye(30)[3], ncv=10)[0]
    np.testing.assert_allclose(found, [28, 29], rtol=1e-9)


@pytest.mark.forbidden("debug_nans")
def test_what_was_not_found_is_nan():
    assert np.isnan(eigsh(rnp.full((4, 4), np.nan), 4)[0]).all()
    w, v = eigsh(laplace, 3, "SM", v0=rnp.asarray(RANDOM.normal(size=300)), ncv=8, maxiter=1)
    assert np.isnan(w).any()
    assert np.isnan(np.asarray(v)[:, np.isnan(w)]).all()
    loose = eigsh(rnp.asarray(REAL), 3, "LA", tol=1e-2, ncv=8)[0]
    np.testing.assert_allclose(loose, np.linalg.eigvalsh(REAL)[-3:], rtol=1e-2)


@pytest.mark.needs("grad", "jvp", "jit")
@pytest.mark.parametrize(("which", "kind"), [("BE", "complex"), ("SM", "real")])
def test_derivatives_of_first_and_second_order(which, kind):
    """Of a map that closes over what moves, against all eigenvalues of the moved matrix."""
    a, change = (REAL, RANDOM.normal(size=(N, N))) if kind == "real" else (COMPLEX, COMPLEX[::-1])
    change = (change + np.conj(change).T) / 4
    v0 = rnp.asarray(RANDOM.normal(size=N), a.dtype)
    weights = rnp.asarray(RANDOM.normal(size=(N, 2)))

    def measured(w, v):
        """It does not depend on the phases of vectors."""
        return rnp.sum(w * rnp.arange(1.0, 3.0)) + rnp.sum(rnp.square(rnp.abs(v)) * weights)

    def loss(t):
        return measured(*eigsh(lambda x: (a + t * change) @ x, 2, which, v0=v0))

    def wanted(t):
        w, v = np.linalg.eigh(a + t * change)
        places = [int(np.argmin(abs(w - x))) for x in chosen(w, which, 2)]
        return float(measured(w[places], v[:, places]))

    @rb.jit
    def found(t):
        forward = lambda t: rb.jvp(loss, (t,), (1.0,))[1]
        reverse = rb.grad(loss)
        return loss(t), forward(t), reverse(t), rb.grad(forward)(t), rb.jvp(reverse, (t,), (1.0,))[1]

    value, forward, reverse, *twice = map(float, found(0.0))
    step = 1e-4
    low, middle, high = (wanted(t) for t in (-step, 0.0, step))
    assert value == pytest.approx(middle, rel=1e-9)
    for first in (forward, reverse):
        assert first == pytest.approx((high - low) / (2 * step), rel=1e-5, abs=1e-6)
    for second in twice:
        assert second == pytest.approx((high - 2 * middle + low) / step**2, rel=1e-4, abs=1e-4)


@pytest.mark.needs("grad")
def test_the_gradient_by_a_matrix():
    a = rnp.asarray(REAL)
    gradient = rb.grad(lambda a: eigsh(a, 1, "LA", return_eigenvectors=False)[0])(a)
    v = np.linalg.eigh(REAL)[1][:, -1]
    np.testing.assert_allclose(gradient, np.outer(v, v), atol=1e-10)


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: eigsh(laplace), "a function A needs v0"),
        (lambda: eigsh(rnp.ones((3, 4))), "A must be square"),
        (lambda: eigsh(rnp.eye(9), 2, v0=rnp.ones(3)), r"v0 must have the shape \(9,\), got \(3,\)"),
        (lambda: eigsh(rnp.eye(9), 10), "k must be from 1 to n = 9, got 10"),
        (lambda: eigsh(rnp.eye(9), 2, "XX"), "which must be one of 'LM'"),
        (lambda: eigsh(rnp.eye(9), 4, ncv=3), "ncv must be above k = 4 and at most n = 9, got 3"),
        (lambda: eigsh(laplace, 2, v0=rnp.arange(9)), "takes floats or complex numbers, got int"),
    ],
)
def test_messages(call, says):
    with pytest.raises((TypeError, ValueError), match=says):
        call()
