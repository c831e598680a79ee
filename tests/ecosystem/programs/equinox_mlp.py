"""equinox: a module that is a tree, filtered jit and gradients, with optax."""

import equinox as eqx
import jax
import jax.numpy as jnp
import optax

key = jax.random.PRNGKey(0)
model = eqx.nn.MLP(2, 1, 16, 2, key=key)
x = jax.random.normal(key, (32, 2))
y = x[:, :1] * x[:, 1:]
optimizer = optax.adam(1e-2)
state = optimizer.init(eqx.filter(model, eqx.is_array))


@eqx.filter_jit
def step(model, state):
    loss, grads = eqx.filter_value_and_grad(lambda m: jnp.mean((jax.vmap(m)(x) - y) ** 2))(model)
    updates, state = optimizer.update(grads, state)
    return eqx.apply_updates(model, updates), state, loss


for _ in range(50):
    model, state, loss = step(model, state)
print(float(loss))
