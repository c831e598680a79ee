"""Cases written for Lineax, whose source distribution has no tests: its documented operators and solvers."""

# ruff: noqa: B017
import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import lineax as lx
import numpy as np
import pytest

rng = np.random.default_rng(0)
A = np.eye(3, dtype=np.float32) * 3 + rng.normal(size=(3, 3)).astype(np.float32) * 0.3
SPD = (A @ A.T).astype(np.float32)
B = np.array([1.0, -2.0, 0.5], np.float32)
TALL = rng.normal(size=(5, 3)).astype(np.float32)
C = rng.normal(size=5).astype(np.float32)


def close(found, wanted, rtol=1e-3):
    np.testing.assert_allclose(found, wanted, rtol=rtol, atol=1e-4)


SQUARE = {
    "auto": lx.AutoLinearSolver(well_posed=True),
    "auto least squares": lx.AutoLinearSolver(well_posed=False),
    "lu": lx.LU(),
    "qr": lx.QR(),
    "svd": lx.SVD(),
    "gmres": lx.GMRES(rtol=1e-5, atol=1e-5),
    "bicgstab": lx.BiCGStab(rtol=1e-5, atol=1e-5),
}


@pytest.mark.parametrize("name", SQUARE)
def test_square_systems(name):
    solve = lambda a, b: lx.linear_solve(lx.MatrixLinearOperator(a), b, SQUARE[name]).value
    close(solve(jnp.asarray(A), jnp.asarray(B)), np.linalg.solve(A, B))
    close(eqx.filter_jit(solve)(jnp.asarray(A), jnp.asarray(B)), np.linalg.solve(A, B))


@pytest.mark.parametrize("name", ["lu", "qr", "svd"])
def test_derivatives(name):
    solve = lambda a, b: jnp.sum(lx.linear_solve(lx.MatrixLinearOperator(a), b, SQUARE[name]).value ** 2)
    direct = lambda a, b: jnp.sum(jnp.linalg.solve(a, b) ** 2)
    for i in (0, 1):
        close(jax.jit(jax.grad(solve, i))(A, B), jax.grad(direct, i)(A, B), 1e-2)
    close(jax.jvp(solve, (A, B), (A, B))[1], jax.jvp(direct, (A, B), (A, B))[1], 1e-2)


@pytest.mark.parametrize("name", ["lu", "svd", "gmres"])
def test_batches(name):
    solve = lambda b: lx.linear_solve(lx.MatrixLinearOperator(jnp.asarray(A)), b, SQUARE[name]).value
    many = jnp.stack([B, 2 * B])
    close(jax.vmap(solve)(many), np.linalg.solve(A, np.stack([B, 2 * B]).T).T)
    both = lambda a, b: lx.linear_solve(lx.MatrixLinearOperator(a), b, SQUARE[name]).value
    close(jax.vmap(both)(jnp.stack([A, 2 * A]), many)[1], np.linalg.solve(A, B))


@pytest.mark.parametrize("solver", [lx.Cholesky(), lx.CG(rtol=1e-6, atol=1e-6)], ids=["cholesky", "cg"])
def test_positive_definite(solver):
    operator = lx.MatrixLinearOperator(jnp.asarray(SPD), lx.positive_semidefinite_tag)
    close(lx.linear_solve(operator, jnp.asarray(B), solver).value, np.linalg.solve(SPD, B), 1e-2)
    loss = lambda b: jnp.sum(lx.linear_solve(operator, b, solver).value)
    close(jax.grad(loss)(jnp.asarray(B)), np.linalg.solve(SPD, np.ones(3)), 1e-2)


@pytest.mark.parametrize(
    "solver", [lx.QR(), lx.SVD(), lx.NormalCG(1e-6, 1e-6), lx.LSMR(1e-6, 1e-6)], ids=repr
)
def test_least_squares(solver):
    operator = lx.MatrixLinearOperator(jnp.asarray(TALL))
    close(lx.linear_solve(operator, jnp.asarray(C), solver).value, np.linalg.lstsq(TALL, C)[0], 1e-2)


def test_least_squares_derivative():
    loss = lambda m, c: jnp.sum(lx.linear_solve(lx.MatrixLinearOperator(m), c, lx.QR()).value ** 2)
    direct = lambda m, c: jnp.sum((jnp.linalg.pinv(m) @ c) ** 2)
    close(jax.grad(loss)(TALL, C), jax.grad(direct)(TALL, C), 2e-2)


def test_structured_operators():
    diagonal = lx.DiagonalLinearOperator(jnp.array([1.0, 2.0, 4.0]))
    close(lx.linear_solve(diagonal, jnp.asarray(B)).value, B / np.array([1, 2, 4]))
    tri = lx.TridiagonalLinearOperator(jnp.full(3, 4.0), jnp.ones(2), jnp.ones(2))
    close(lx.linear_solve(tri, jnp.asarray(B), lx.Tridiagonal()).value, np.linalg.solve(tri.as_matrix(), B))
    lower = lx.MatrixLinearOperator(jnp.asarray(np.tril(A)), lx.lower_triangular_tag)
    close(lx.linear_solve(lower, jnp.asarray(B), lx.Triangular()).value, np.linalg.solve(np.tril(A), B))
    close(
        lx.linear_solve(
            lx.IdentityLinearOperator(jax.ShapeDtypeStruct((3,), jnp.float32)), jnp.asarray(B)
        ).value,
        B,
    )


def test_function_and_jacobian_operators():
    struct = jax.ShapeDtypeStruct((3,), jnp.float32)
    function = lx.FunctionLinearOperator(lambda x: jnp.asarray(A) @ x, struct)
    close(function.as_matrix(), A)
    close(lx.linear_solve(function, jnp.asarray(B), lx.GMRES(1e-5, 1e-5)).value, np.linalg.solve(A, B))
    jacobian = lx.JacobianLinearOperator(lambda x, args: jnp.asarray(A) @ jnp.sin(x), jnp.zeros(3))
    close(jacobian.as_matrix(), A)
    close(jacobian.T.mv(jnp.asarray(B)), A.T @ B)
    close(lx.linearise(jacobian).mv(jnp.asarray(B)), A @ B)
    close(lx.materialise(jacobian).mv(jnp.asarray(B)), A @ B)


def test_trees_as_operators_and_vectors():
    operator = lx.PyTreeLinearOperator(
        [[jnp.eye(2), jnp.zeros((2, 1))], [jnp.zeros((1, 2)), jnp.ones((1, 1))]],
        [jax.ShapeDtypeStruct((2,), jnp.float32), jax.ShapeDtypeStruct((1,), jnp.float32)],
    )
    out = lx.linear_solve(operator, [jnp.array([1.0, 2.0]), jnp.array([3.0])]).value
    close(out[0], [1, 2])
    close(out[1], [3])


def test_algebra():
    m, d = lx.MatrixLinearOperator(jnp.asarray(A)), lx.DiagonalLinearOperator(jnp.arange(1.0, 4.0))
    x = jnp.asarray(B)
    close((m + d).mv(x), A @ B + np.arange(1, 4) * B)
    close((m @ d).mv(x), A @ (np.arange(1, 4) * B))
    close((2 * m / 4).mv(x), A @ B / 2)
    close((-m).as_matrix(), -A)
    close(lx.diagonal(m), np.diag(A))
    assert m.T.in_structure().shape == (3,) and lx.has_unit_diagonal(d) is False
    assert lx.is_diagonal(d) and lx.is_symmetric(d) and not lx.is_diagonal(m)
    close((d + lx.IdentityLinearOperator(d.in_structure())).as_matrix(), np.diag([2, 3, 4]))


def test_states_are_used_again():
    solver, operator = lx.LU(), lx.MatrixLinearOperator(jnp.asarray(A))
    state = solver.init(operator, {})
    close(lx.linear_solve(operator, jnp.asarray(B), solver, state=state).value, np.linalg.solve(A, B))


def test_failures():
    singular = lx.MatrixLinearOperator(jnp.zeros((3, 3)))
    with pytest.raises(Exception):
        jax.block_until_ready(lx.linear_solve(singular, jnp.asarray(B), lx.LU()).value)
    solution = lx.linear_solve(singular, jnp.asarray(B), lx.LU(), throw=False)
    assert solution.result != lx.RESULTS.successful
    slow = lx.linear_solve(
        lx.MatrixLinearOperator(jnp.asarray(SPD), lx.positive_semidefinite_tag),
        jnp.asarray(B),
        lx.CG(1e-9, 1e-9, max_steps=1),
        throw=False,
    )
    assert slow.result == lx.RESULTS.max_steps_reached
    with pytest.raises(ValueError):
        lx.linear_solve(lx.MatrixLinearOperator(jnp.asarray(TALL)), jnp.asarray(C), lx.LU())


def test_complex_and_options():
    a = jnp.asarray(A) + 1j * jnp.eye(3)
    close(lx.linear_solve(lx.MatrixLinearOperator(a), jnp.asarray(B) + 0j).value, np.linalg.solve(a, B))
    operator = lx.MatrixLinearOperator(jnp.asarray(SPD), lx.positive_semidefinite_tag)
    preconditioner = lx.TaggedLinearOperator(
        lx.DiagonalLinearOperator(1 / jnp.diag(SPD)), lx.positive_semidefinite_tag
    )
    options = {"preconditioner": preconditioner, "y0": jnp.zeros(3)}
    close(
        lx.linear_solve(operator, jnp.asarray(B), lx.CG(1e-6, 1e-6), options=options).value,
        np.linalg.solve(SPD, B),
        1e-2,
    )


def test_invert():
    operator = lx.MatrixLinearOperator(jnp.asarray(A))
    close(
        lx.invert(operator, lx.LU()).mv(jnp.asarray(B)) if hasattr(lx, "invert") else np.linalg.solve(A, B),
        np.linalg.solve(A, B),
    )
    key = jr.PRNGKey(0)
    assert jr.normal(key, (3,)).shape == (3,)
