"""Gumbel MuZero and MuZero policies on a toy model"""

# packages: mctx
import jax
import jax.numpy as jnp
import mctx


def recurrent(params, rng, action, embedding):
    return mctx.RecurrentFnOutput(
        reward=action.astype(jnp.float32) * 0.1,
        discount=jnp.full_like(embedding, 0.9),
        prior_logits=jnp.zeros((2, 3)),
        value=embedding * 0.5,
    ), embedding + 1


root = mctx.RootFnOutput(prior_logits=jnp.zeros((2, 3)), value=jnp.zeros(2), embedding=jnp.arange(2.0))
key = jax.random.PRNGKey(0)
out = jax.jit(
    lambda k: mctx.gumbel_muzero_policy(
        (), k, root, recurrent, num_simulations=8, max_num_considered_actions=3
    )
)(key)
mu = mctx.muzero_policy((), key, root, recurrent, num_simulations=8)
print(*map(float, out.action_weights.ravel()), *map(float, mu.action_weights.ravel()), *map(float, mu.action))
