"""2048 and Snake, a few steps"""

# packages: jumanji
import jax
import jax.numpy as jnp
import jumanji


def run(name):
    env = jumanji.make(name)
    state, step = jax.jit(env.reset)(jax.random.PRNGKey(0))
    go = jax.jit(env.step)
    total = 0.0
    for i in range(4):
        state, step = go(state, jnp.array(i % 4))
        total += float(step.reward)
    return total, sum(float(jnp.sum(jnp.asarray(x, jnp.float32))) for x in jax.tree.leaves(step.observation))


print(*run("Game2048-v1"), *run("Snake-v1"))
