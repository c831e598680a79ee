"""POT: optimal transport of JAX's arrays."""

import jax.numpy as jnp
import ot

a, b = jnp.full(5, 0.2), jnp.full(6, 1 / 6)
cost = (jnp.linspace(0, 1, 5)[:, None] - jnp.linspace(0.2, 1.3, 6)) ** 2
plan = ot.sinkhorn(a, b, cost, 0.1)
sliced = ot.sliced_wasserstein_distance(cost, cost + 1, seed=0)
print(float(plan[0, 1]), float((plan * cost).sum()), float(ot.sinkhorn2(a, b, cost, 0.1)), float(sliced))
