"""gradient descent with implicit derivatives, L-BFGS, projected gradient"""

# packages: jaxopt
import jax
import jax.numpy as jnp
import jaxopt

X = jax.random.normal(jax.random.PRNGKey(0), (20, 3))
y = X @ jnp.array([1.0, -2.0, 0.5])


def ridge(w, l):
    return jnp.mean((X @ w - y) ** 2) + l * jnp.sum(w**2)


solve = lambda l: jaxopt.LBFGS(ridge, maxiter=50, tol=1e-6).run(jnp.zeros(3), l).params
gd = jaxopt.GradientDescent(ridge, maxiter=300).run(jnp.zeros(3), l=0.1).params
pg = (
    jaxopt.ProjectedGradient(ridge, jaxopt.projection.projection_simplex, maxiter=200)
    .run(jnp.ones(3) / 3, l=0.1)
    .params
)
bi = jaxopt.Bisection(lambda x: x**3 - 2, 0.0, 2.0).run().params
print(
    *map(float, solve(0.1)),
    *map(float, gd),
    *map(float, pg),
    float(bi),
    *map(float, jax.jacobian(solve)(0.1)),
)
