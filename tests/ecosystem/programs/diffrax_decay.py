"""diffrax: an adaptive solver, and the gradient of its result."""

import diffrax
import jax
import jax.numpy as jnp


def solve(rate):
    term = diffrax.ODETerm(lambda t, y, rate: -rate * y)
    controller = diffrax.PIDController(1e-5, 1e-5)
    start = jnp.array([1.0])
    solution = diffrax.diffeqsolve(
        term, diffrax.Tsit5(), 0.0, 1.0, 0.1, start, args=rate, stepsize_controller=controller
    )
    return solution.ys[-1, 0]


print(float(solve(2.0)), float(jax.jit(jax.grad(solve))(2.0)))
