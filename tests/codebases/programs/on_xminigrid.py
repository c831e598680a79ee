"""a grid world"""

# packages: xminigrid
import jax
import xminigrid

env, params = xminigrid.make("MiniGrid-Empty-5x5")
t = jax.jit(env.reset)(params, jax.random.key(0))
for i in (0, 0, 1, 0):
    t = jax.jit(env.step)(params, t, i)
print(float(t.observation.sum()), float(t.reward), float(t.state.agent.position.sum()))
