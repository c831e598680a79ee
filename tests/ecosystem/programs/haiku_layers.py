"""dm-haiku: a transformed function, its parameters and its gradient."""

import haiku as hk
import jax
import jax.numpy as jnp


def network(x):
    layers = [hk.Linear(8), jax.nn.relu, hk.LayerNorm(-1, True, True), hk.Linear(1)]
    return hk.Sequential(layers)(x)


transformed = hk.without_apply_rng(hk.transform(network))
key = jax.random.PRNGKey(1)
x = jax.random.normal(key, (4, 3))
params = transformed.init(key, x)
total = jax.jit(lambda p: transformed.apply(p, x).sum())(params)
grads = jax.grad(lambda p: (transformed.apply(p, x) ** 2).sum())(params)
print(float(total), float(sum(jnp.abs(g).sum() for g in jax.tree.leaves(grads))))
