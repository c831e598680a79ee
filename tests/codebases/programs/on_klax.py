"""an input-convex network and its training"""

# packages: klax
import jax
import jax.numpy as jnp
import klax

net = klax.nn.MLP("scalar", "scalar", 2 * [4], activation=jax.nn.softplus, key=jax.random.key(0))
x = jnp.linspace(0, 1, 8)
print(*map(float, jax.vmap(net)(x)))
