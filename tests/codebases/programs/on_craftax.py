"""a few steps of the symbolic game"""

# packages: craftax
import jax
from craftax.craftax_env import make_craftax_env_from_name

env = make_craftax_env_from_name("Craftax-Classic-Symbolic-v1", auto_reset=False)
p = env.default_params
obs, state = jax.jit(env.reset)(jax.random.PRNGKey(0), p)
obs, state, r, d, _ = jax.jit(env.step)(jax.random.PRNGKey(1), state, 3, p)
print(float(obs.sum()), float(r), float(state.player_health))
