"""root finding, least squares, minimisation and derivatives of solutions"""

# packages: optimistix
import jax
import jax.numpy as jnp
import optimistix as optx

root = lambda a: optx.root_find(lambda y, a: y**3 - a, optx.Newton(1e-5, 1e-5), jnp.array(1.0), args=a).value
fit = optx.least_squares(
    lambda y, _: jnp.array([y[0] - 1, 10 * (y[1] - y[0] ** 2)]),
    optx.LevenbergMarquardt(1e-5, 1e-5),
    jnp.zeros(2),
    max_steps=100,
).value
low = optx.minimise(
    lambda y, _: jnp.sum((y - 3) ** 2) + jnp.cos(y).sum(), optx.BFGS(1e-5, 1e-5), jnp.zeros(2)
).value
fixed = optx.fixed_point(lambda y, _: jnp.cos(y), optx.FixedPointIteration(1e-6, 1e-6), jnp.array(1.0)).value
print(float(root(2.0)), float(jax.grad(root)(2.0)), *map(float, fit), *map(float, low), float(fixed))
