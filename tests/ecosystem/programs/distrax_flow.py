"""Distrax: distributions, a mixture, and a flow of bijectors that is fitted to samples."""

import distrax
import jax
import jax.numpy as jnp
import optax

key = jax.random.PRNGKey(0)
normal = distrax.MultivariateNormalDiag(jnp.zeros(2), jnp.array([1.0, 2.0]))
mixture = distrax.MixtureSameFamily(
    distrax.Categorical(probs=jnp.array([0.3, 0.7])),
    distrax.Normal(jnp.array([-1.0, 1.0]), jnp.array([0.1, 0.5])),
)
data, _ = distrax.Transformed(distrax.Normal(0.5, 0.3), distrax.Lambda(jnp.exp)).sample_and_log_prob(
    seed=key, sample_shape=(200,)
)


def flow(params):
    bijector = distrax.Chain(
        [distrax.Lambda(jnp.exp), distrax.ScalarAffine(params["shift"], log_scale=params["log"])]
    )
    return distrax.Transformed(distrax.Normal(0.0, 1.0), bijector)


params = {"shift": jnp.array(0.0), "log": jnp.array(0.0)}
optimizer = optax.adam(5e-2)
state = optimizer.init(params)


@jax.jit
def step(params, state):
    value, grads = jax.value_and_grad(lambda p: -flow(p).log_prob(data).mean())(params)
    updates, state = optimizer.update(grads, state)
    return optax.apply_updates(params, updates), state, value


for _ in range(200):
    params, state, value = step(params, state)
print(
    float(value), float(params["shift"]), float(params["log"]),
    *map(float, normal.sample(seed=key)), float(normal.log_prob(jnp.ones(2))), float(normal.entropy()),
    float(mixture.log_prob(0.3)), float(mixture.sample(seed=key)),
    float(distrax.Categorical(logits=jnp.arange(3.0)).kl_divergence(distrax.Categorical(logits=jnp.zeros(3)))),
)  # fmt: skip
