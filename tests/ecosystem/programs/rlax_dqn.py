"""rlax: Q-learning with a network of Haiku and Optax on a chain of states."""

import haiku as hk
import jax
import jax.numpy as jnp
import optax
import rlax

STATES, ACTIONS = 6, 2


def network(states):
    return hk.nets.MLP([32, ACTIONS])(jax.nn.one_hot(states, STATES))


net = hk.without_apply_rng(hk.transform(network))
key = jax.random.PRNGKey(0)
s = jnp.arange(STATES - 1).repeat(ACTIONS)
a = jnp.tile(jnp.arange(ACTIONS), STATES - 1)
following = jnp.clip(s + 2 * a - 1, 0, STATES - 1)
reward = jnp.where(following == STATES - 1, 1.0, 0.0)
discount = jnp.where(following == STATES - 1, 0.0, 0.9)
params = net.init(key, s)
optimizer = optax.adam(1e-2)
state = optimizer.init(params)


def loss(params):
    q, q_next = net.apply(params, s), net.apply(params, following)
    errors = jax.vmap(rlax.double_q_learning)(q, a, reward, discount, q_next, q_next)
    return jnp.mean(rlax.huber_loss(errors))


@jax.jit
def step(params, state):
    value, grads = jax.value_and_grad(loss)(params)
    updates, state = optimizer.update(grads, state)
    return optax.apply_updates(params, updates), state, value


for _ in range(200):
    params, state, value = step(params, state)
policy = rlax.softmax().probs(net.apply(params, jnp.arange(STATES - 1)))
returns = rlax.lambda_returns(jnp.ones(4), jnp.full(4, 0.9), jnp.arange(4.0), 0.8)
print(float(value), *map(float, policy[:, 1]), *map(float, returns))
