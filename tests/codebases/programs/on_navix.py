"""a grid world of navix"""

# packages: navix
import jax
import navix as nx

env = nx.make("Navix-Empty-5x5-v0")
t = jax.jit(env.reset)(jax.random.PRNGKey(0))
for i in (2, 2, 1, 2):
    t = jax.jit(env.step)(t, i)
print(float(t.observation.sum()), float(t.reward), float(t.t))
