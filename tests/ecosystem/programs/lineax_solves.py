"""Lineax: solvers for dense, tridiagonal and implicit operators, least squares, a derivative."""

import jax
import jax.numpy as jnp
import lineax as lx

matrix = jax.random.normal(jax.random.PRNGKey(0), (4, 4)) + 4 * jnp.eye(4)
vector = jnp.arange(1.0, 5.0)
positive = matrix @ matrix.T

dense = lx.linear_solve(lx.MatrixLinearOperator(matrix), vector).value
cholesky = lx.linear_solve(lx.MatrixLinearOperator(positive, lx.positive_semidefinite_tag), vector).value
tall = jax.random.normal(jax.random.PRNGKey(1), (6, 3))
squares = lx.linear_solve(lx.MatrixLinearOperator(tall), jnp.ones(6), lx.QR()).value
banded = lx.linear_solve(
    lx.TridiagonalLinearOperator(4 * jnp.ones(4), jnp.ones(3), jnp.ones(3)), vector
).value

shape = jax.eval_shape(lambda: vector)
function = lx.FunctionLinearOperator(lambda v: positive @ v, shape, lx.positive_semidefinite_tag)
conjugate = lx.linear_solve(function, vector, lx.CG(rtol=1e-6, atol=1e-6)).value


@jax.jit
@jax.grad
def slope(scale):
    return lx.linear_solve(lx.MatrixLinearOperator(scale * matrix), vector).value.sum()


print(*(float(x) for part in (dense, cholesky, squares, banded, conjugate) for x in part), float(slope(2.0)))
