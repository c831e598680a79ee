"""an LSTM and batch norm with state, and a gradient step"""

# packages: dm-haiku
import haiku as hk
import jax
import jax.numpy as jnp


def network(x):
    h, _ = hk.dynamic_unroll(hk.LSTM(4), x, hk.LSTM(4).initial_state(3))
    return hk.BatchNorm(True, True, 0.9)(hk.Linear(2)(h), is_training=True)


net = hk.transform_with_state(network)
x = jax.random.normal(jax.random.PRNGKey(0), (5, 3, 2))
params, state = net.init(jax.random.PRNGKey(1), x)


@jax.jit
def loss(params):
    out, new = net.apply(params, state, None, x)
    return jnp.sum(jnp.tanh(out) ** 2), new


(value, new), grads = jax.value_and_grad(loss, has_aux=True)(params)
print(float(value), *(float(jnp.sum(jnp.abs(g))) for g in jax.tree.leaves(grads)))
