"""tic-tac-toe and Go, batches of random play"""

# packages: pgx
import jax
import jax.numpy as jnp
import pgx


def play(name, steps):
    env = pgx.make(name)
    state = jax.vmap(env.init)(jax.random.split(jax.random.PRNGKey(0), 3))
    step = jax.jit(jax.vmap(env.step))
    for i in range(steps):
        logits = jnp.where(state.legal_action_mask, 0.0, -jnp.inf)
        keys = jax.random.split(jax.random.PRNGKey(i), 3)
        state = step(state, jax.random.categorical(keys[0], logits), keys)
    return float(state.observation.sum()), float(state.rewards.sum()), float(state.terminated.sum())


print(*play("tic_tac_toe", 6), *play("connect_four", 8), *play("minatar-breakout", 4))
