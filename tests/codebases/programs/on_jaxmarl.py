"""a particle environment with several agents"""

# packages: jaxmarl
import jax
import jax.numpy as jnp
from jaxmarl import make

env = make("MPE_simple_spread_v3")
key = jax.random.PRNGKey(0)
obs, state = env.reset(key)
total = 0.0
for i in range(3):
    actions = {a: env.action_space(a).sample(jax.random.fold_in(key, i)) for a in env.agents}
    obs, state, reward, done, _ = jax.jit(env.step)(key, state, actions)
    total += sum(float(r) for r in reward.values())
print(total, *(float(jnp.abs(o).sum()) for o in obs.values()))
