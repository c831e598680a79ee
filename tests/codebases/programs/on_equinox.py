"""filtered jit and grad, ensembles by vmap, state of a norm, serialisation"""

# packages: equinox optax
import io

import equinox as eqx
import jax
import jax.numpy as jnp
import optax

mlp = eqx.nn.MLP(2, 1, 8, 2, key=jax.random.PRNGKey(0))
x = jax.random.normal(jax.random.PRNGKey(1), (16, 2))
y = jnp.sin(x.sum(1, keepdims=True))
tx = optax.adam(1e-2)
state = tx.init(eqx.filter(mlp, eqx.is_inexact_array))


@eqx.filter_jit
def step(mlp, state):
    loss, grads = eqx.filter_value_and_grad(lambda m: jnp.mean((jax.vmap(m)(x) - y) ** 2))(mlp)
    updates, state = tx.update(grads, state)
    return eqx.apply_updates(mlp, updates), state, loss


for _ in range(20):
    mlp, state, loss = step(mlp, state)
many = eqx.filter_vmap(lambda k: eqx.nn.Linear(2, 3, key=k))(jax.random.split(jax.random.PRNGKey(2), 4))
out = eqx.filter_vmap(lambda m, x: m(x), in_axes=(eqx.if_array(0), None))(many, x[0])
norm, st = eqx.nn.make_with_state(eqx.nn.BatchNorm)(2, axis_name="b", mode="batch")
normed, st = jax.vmap(norm, axis_name="b", in_axes=(0, None), out_axes=(0, None))(x, st)
file = io.BytesIO()
eqx.tree_serialise_leaves(file, mlp)
file.seek(0)
again = eqx.tree_deserialise_leaves(file, mlp)
print(float(loss), float(out.sum()), float(jnp.abs(normed).sum()), float(again(x[0])[0]))
