"""a density fitted by an optimizer"""

# packages: bayeux-ml
import bayeux as bx
import jax
import jax.numpy as jnp

m = bx.Model(lambda p: -jnp.sum((p["x"] - 2.0) ** 2), {"x": jnp.zeros(2)})
out = m.optimize.optax_adam(seed=jax.random.PRNGKey(0), num_particles=1, num_iters=50)
print(*map(float, jnp.ravel(out.params["x"])))
