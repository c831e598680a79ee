"""Optimistix: a root, a fixed point, a least-squares fit, a minimum, and derivatives through them."""

import jax
import jax.numpy as jnp
import optimistix as optx

newton = optx.Newton(rtol=1e-5, atol=1e-5)
root = optx.root_find(lambda y, args: y**3 - args, newton, jnp.array(1.0), 2.0).value
fixed = optx.fixed_point(
    lambda y, args: jnp.cos(y * args), optx.FixedPointIteration(rtol=1e-5, atol=1e-5), jnp.ones(2), 1.0
).value

x = jnp.linspace(0.0, 2.0, 20)
y = 2.0 * jnp.exp(-0.7 * x) + 0.1 * x


def residuals(params, args):
    amplitude, rate = params
    return amplitude * jnp.exp(-rate * x) - y


fit = optx.least_squares(
    residuals, optx.LevenbergMarquardt(rtol=1e-6, atol=1e-6), (jnp.array(1.0), jnp.array(0.1))
)
least = optx.minimise(
    lambda z, args: (1 - z[0]) ** 2 + 5 * (z[1] - z[0] ** 2) ** 2,
    optx.BFGS(rtol=1e-6, atol=1e-6), jnp.array([-1.0, 1.0]), max_steps=200,
)  # fmt: skip


@jax.jit
@jax.grad
def slope(target):
    return optx.root_find(lambda y, args: y**3 - args, newton, jnp.array(1.0), target).value


print(float(root), *map(float, fixed), *map(float, fit.value), *map(float, least.value), float(slope(2.0)))
