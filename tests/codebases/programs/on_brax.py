"""a few steps of an ant"""

# packages: brax
import jax
import jax.numpy as jnp
from brax import envs

env = envs.get_environment("inverted_pendulum", backend="spring")
state = jax.jit(env.reset)(jax.random.PRNGKey(0))
step = jax.jit(env.step)
for _ in range(3):
    state = step(state, jnp.full(env.action_size, 0.1))
print(*map(float, state.obs), float(state.reward))
