"""optax: a chain of transformations and a schedule, for linear regression."""

import jax
import jax.numpy as jnp
import optax

key = jax.random.PRNGKey(0)
x = jax.random.normal(key, (64, 4))
y = x @ jnp.arange(4.0) + 1
params = {"w": jnp.zeros(4), "b": jnp.zeros(())}
schedule = optax.warmup_cosine_decay_schedule(0.0, 0.1, 10, 100)
optimizer = optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(schedule))
state = optimizer.init(params)


@jax.jit
def step(params, state):
    loss, grads = jax.value_and_grad(lambda p: jnp.mean((x @ p["w"] + p["b"] - y) ** 2))(params)
    updates, state = optimizer.update(grads, state, params)
    return optax.apply_updates(params, updates), state, loss


for _ in range(100):
    params, state, loss = step(params, state)
print(float(loss), *map(float, params["w"]), float(params["b"]))
