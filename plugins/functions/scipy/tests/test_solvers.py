"""Iterative solvers: residuals, derivatives against those of direct solutions, trees, complex numbers."""

import numpy as np
import pytest
import rabbet as rb
import rabbet.numpy as rnp
import scipy.sparse.linalg
from oracles import check_gradient, ours
from rabbet.scipy.sparse.linalg import bicgstab, cg, gmres

random = np.random.default_rng(10)
N = 6
A = random.normal(size=(N, N)) + 4 * np.eye(N)
C = A + 1j * random.normal(size=(N, N))
POSITIVE, HERMITIAN = A @ A.T + np.eye(N), C @ C.conj().T + np.eye(N)
B = random.normal(size=N)
SOLVERS = {
    "cg": (cg, POSITIVE, HERMITIAN, {}), "bicgstab": (bicgstab, A, C, {}), "gmres": (gmres, A, C, {}),
    "gmres-restarted": (gmres, A, C, {"restart": 4}),
    "gmres-incremental": (gmres, A, C, {"solve_method": "incremental"}),
    "gmres-both": (gmres, A, C, {"solve_method": "incremental", "restart": 4}),
}  # fmt: skip


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.exhaustive)
        if name in ("gmres-restarted", "gmres-both")
        else name
        for name in SOLVERS
    ],
)
def test_it_solves(name):
    solver, real, complex_, more = SOLVERS[name]
    for a in (real,) if "-" in name else (real, complex_):
        b = B.astype(a.dtype) * (1 + 1j if a is complex_ else 1)
        wanted = np.linalg.solve(a, b)
        for inverse in (None, ours(np.diag(1 / np.diag(a)))):
            x, info = solver(ours(a), ours(b), tol=1e-12, M=inverse, **more)
            np.testing.assert_allclose(x, wanted, rtol=1e-8, atol=1e-8)
            assert info == 0 if solver is gmres else info is None
    if name == "gmres-both":
        return
    batch = np.stack([B, np.zeros(N)])
    found = rb.vmap(lambda b: solver(ours(real), b, tol=1e-12, **more)[0])(ours(batch))
    np.testing.assert_allclose(found, np.linalg.solve(real, batch.T).T, rtol=1e-8, atol=1e-8)


def test_gmres_tells_of_a_nan_as_jax_does():
    _, info = rb.jit(gmres)(ours(A), ours(B), ours(B) * np.nan)
    assert info == -1 and info.dtype == rnp.asarray(1).dtype and info.weak_type


@pytest.mark.parametrize("name", ["cg", "bicgstab", "gmres", "gmres-incremental"])
def test_derivatives(name):
    solver, real, _, more = SOLVERS[name]
    inverse = ours(np.diag(1 / np.diag(real)) + 0.01 * random.normal(size=(N, N)) * (name != "cg"))

    def solution(a, b):
        a = a + a.T if name == "cg" else a
        return solver(a, b, tol=1e-13, M=inverse, **more)[0]

    check_gradient(solution, real, B, second=name == "cg")


def test_steps_are_those_of_scipy():
    for most in (1, 3):
        found = cg(ours(POSITIVE), ours(B), tol=1e-14, maxiter=most)[0]
        wanted = scipy.sparse.linalg.cg(POSITIVE, B, rtol=1e-14, maxiter=most)[0]
        np.testing.assert_allclose(found, wanted, rtol=1e-9)
        found = bicgstab(ours(A), ours(B), tol=1e-14, maxiter=most)[0]
        wanted = scipy.sparse.linalg.bicgstab(A, B, rtol=1e-14, maxiter=most)[0]
        np.testing.assert_allclose(found, wanted, rtol=1e-9)
    for method in ("batched", "incremental"):
        found = gmres(ours(A), ours(B), tol=1e-14, restart=3, maxiter=1, solve_method=method)[0]
        wanted = scipy.sparse.linalg.gmres(A, B, rtol=1e-14, restart=3, maxiter=1)[0]
        np.testing.assert_allclose(found, wanted, rtol=1e-8)


def test_trees_functions_and_starts():
    def double(t):
        return {"a": 2.0 * t["a"], "b": 3.0 * t["b"]}

    b = {"a": rnp.ones(2), "b": rnp.ones((2, 2))}
    for solver in (cg, bicgstab, gmres):
        x, _ = solver(double, b, x0={"a": rnp.zeros(2), "b": rnp.ones((2, 2))})
        np.testing.assert_allclose(x["a"], 0.5, rtol=1e-5)
        np.testing.assert_allclose(x["b"], 1 / 3, rtol=1e-5)
    np.testing.assert_allclose(gmres(lambda x: 0.0 * x, rnp.zeros(3))[0], 0.0)


def test_messages():
    eye = rnp.eye(2)
    with pytest.raises(ValueError, match="one structure"):
        cg(eye, rnp.ones(2), x0=(rnp.ones(2),))
    with pytest.raises(ValueError, match="equal shapes"):
        gmres(eye, rnp.ones(2), x0=rnp.ones(3))
    with pytest.raises(ValueError, match="square matrix"):
        bicgstab(rnp.ones((2, 3)), rnp.ones(2))
    with pytest.raises(TypeError, match="A must be a function"):
        cg("A", rnp.ones(2))
    with pytest.raises(ValueError, match="solve_method"):
        gmres(eye, rnp.ones(2), solve_method="x")
    with pytest.raises(ValueError, match="restart"):
        gmres(eye, rnp.ones(2), restart=0)


@pytest.mark.parametrize("solver", ["cg", "gmres", "bicgstab"])
@pytest.mark.parametrize("wrap", [lambda x: [x], lambda x: (x,), lambda x: {"a": x}])
def test_a_map_returns_the_structure_of_what_it_takes(solver, wrap):
    solve = getattr(rb.scipy.sparse.linalg, solver)
    with pytest.raises(TypeError, match=f"{solver}: A must return the structure of b"):
        solve(lambda x: wrap(2 * x), rb.device_put(np.ones(2, np.float32)))
