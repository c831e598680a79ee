"""Systems and eigenvalues, and the iterative solvers of rabbet.scipy on sparse arrays."""

import numpy as np
import pytest
import rabbet as rb
import rabbet.numpy as rnp
from rabbet.experimental import sparse
from rabbet.experimental.sparse import linalg


@pytest.fixture
def system(draw):
    a = draw(8, 8) + 20 * np.eye(8, dtype="float32")
    a[2, 5] = 7
    return a, sparse.BCSR.fromdense(a), draw(8, density=1.0)


def solve(x, b):
    return linalg.spsolve(x.data, x.indices, x.indptr, b)


def test_spsolve(system):
    pytest.importorskip("scipy")
    a, x, b = system
    want = np.linalg.solve(a, b)
    np.testing.assert_allclose(solve(x, b), want, rtol=1e-5)
    np.testing.assert_allclose(rb.jit(solve)(x, b), want, rtol=1e-5)
    several = np.stack([b, 2 * b], 1)
    np.testing.assert_allclose(solve(x, several), np.linalg.solve(a, several), rtol=1e-5)
    np.testing.assert_allclose(
        rb.vmap(solve, (None, 0))(x, several.T), np.linalg.solve(a, several).T, rtol=1e-5
    )


def test_derivatives_of_spsolve(system):
    pytest.importorskip("scipy")
    a, x, b = system
    dense = lambda a, b: (rnp.linalg.solve(a, b) ** 2).sum()
    ours = lambda x, b: (solve(x, b) ** 2).sum()
    want = rb.grad(dense, (0, 1))(a, b)
    by_data, by_b = sparse.grad(ours, (0, 1))(x, b)
    np.testing.assert_allclose(
        by_data.data, sparse.bcsr_extract(x.indices, x.indptr, want[0]), rtol=1e-4, atol=1e-7
    )
    np.testing.assert_allclose(by_b, want[1], rtol=1e-4)
    slope = rb.jvp(lambda d: ours(x._with_data(d), b), (x.data,), (x.data,))[1]
    np.testing.assert_allclose(slope, (by_data.data * x.data).sum(), rtol=1e-4)


def test_spsolve_refuses_what_does_not_fit(system):
    pytest.importorskip("scipy")
    _, x, b = system
    for change, text in (
        ({"b": b[:3]}, "indptr is that of 8 rows"),
        ({"b": b.astype("int32"), "data": x.data.astype("int32")}, "floating point"),
        ({"indices": x.indices[:-1]}, "of one length"),
    ):
        given = {"data": x.data, "indices": x.indices, "indptr": x.indptr, "b": b, **change}
        with pytest.raises((ValueError, TypeError), match=text):
            linalg.spsolve(**given)


def test_spsolve_of_a_singular_matrix_is_nan_with_a_warning():
    pytest.importorskip("scipy")
    x = sparse.BCSR.fromdense(np.diag([1.0, 0.0]).astype("float32"))
    with pytest.warns(Warning, match="singular"):
        assert np.isnan(solve(x, np.ones(2, "float32"))).all()


def test_lobpcg_finds_the_largest_eigenvalues(rng):
    q, _ = np.linalg.qr(rng.normal(size=(40, 40)))
    a = ((q * np.arange(1, 41) ** 1.5) @ q.T).astype("float32")
    start = rng.normal(size=(40, 3)).astype("float32")
    want = np.linalg.eigvalsh(a)[::-1][:3]
    theta, u, steps = linalg.lobpcg_standard(a, start)
    np.testing.assert_allclose(theta, want, rtol=1e-5)
    np.testing.assert_allclose(u.T @ u, np.eye(3), atol=1e-5)
    np.testing.assert_allclose(a @ u, u * theta[None], atol=0.1)
    assert 0 < int(steps) < 100
    assert int(linalg.lobpcg_standard(a, start, m=3)[2]) == 3
    diagonal = sparse.BCOO.fromdense(np.diag(np.arange(1.0, 41)).astype("float32"))
    for given in (diagonal, lambda x: diagonal @ x):
        theta, _, _ = rb.jit(lambda s, g=given: linalg.lobpcg_standard(g, s))(start)
        np.testing.assert_allclose(theta, [40, 39, 38], rtol=1e-4)
    with pytest.raises(ValueError, match="more than 5 k rows"):
        linalg.lobpcg_standard(a, np.ones((40, 8), "float32"))
    with pytest.raises(ValueError, match="A must have the shape"):
        linalg.lobpcg_standard(a[:5], start)


@pytest.mark.parametrize("name", ["cg", "bicgstab", "gmres"])
def test_iterative_solvers_take_sparse_arrays(system, name):
    solvers = pytest.importorskip("rabbet.scipy.sparse.linalg")
    a, _, b = system
    a = a + a.T
    method = getattr(solvers, name)
    want = np.linalg.solve(a, b)
    for cls in (sparse.BCOO, sparse.BCSR, sparse.CSR):
        x = cls.fromdense(a)
        np.testing.assert_allclose(method(x, b)[0], want, rtol=1e-3, atol=1e-5)
    f = lambda x: (method(x, b, tol=1e-7)[0] ** 2).sum()
    slope = sparse.grad(f)(sparse.BCOO.fromdense(a))
    dense = rb.grad(lambda a: (rnp.linalg.solve(a, b) ** 2).sum())(rnp.asarray(a))
    np.testing.assert_allclose(slope.data, sparse.bcoo_extract(slope, dense).data, rtol=2e-3, atol=1e-6)
