"""cart pole and mountain car, batches of random actions"""

# packages: gymnax six
import gymnax
import jax
import jax.numpy as jnp


def run(name):
    env, params = gymnax.make(name)
    keys = jax.random.split(jax.random.PRNGKey(0), 3)
    obs, state = jax.vmap(env.reset, (0, None))(keys, params)
    step = jax.jit(jax.vmap(env.step, (0, 0, 0, None)))
    total = 0.0
    for i in range(5):
        action = jax.vmap(env.action_space(params).sample)(jax.random.split(jax.random.PRNGKey(i), 3))
        obs, state, reward, *_ = step(keys, state, action, params)
        total += float(reward.sum())
    return float(jnp.abs(obs).sum()), total


print(*run("CartPole-v1"), *run("MountainCar-v0"), *run("Catch-bsuite"))
