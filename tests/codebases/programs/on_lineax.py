"""linear systems by several solvers and their derivatives"""

# packages: lineax
import jax
import jax.numpy as jnp
import lineax as lx

a = jnp.array([[4.0, 1, 0], [1, 3, 1], [0, 1, 2]])
b = jnp.array([1.0, 2, 3])
op = lx.MatrixLinearOperator(a, lx.positive_semidefinite_tag)
f = lambda b: lx.linear_solve(op, b, lx.CG(1e-6, 1e-6)).value.sum()
print(
    *map(float, lx.linear_solve(lx.MatrixLinearOperator(a), b).value),
    float(f(b)),
    *map(float, jax.grad(f)(b)),
    *map(float, lx.linear_solve(lx.MatrixLinearOperator(a[:, :2]), b, lx.QR()).value),
    *map(
        float,
        lx.linear_solve(
            lx.TridiagonalLinearOperator(jnp.diag(a), jnp.ones(2), jnp.ones(2)), b, lx.Tridiagonal()
        ).value,
    ),
)
