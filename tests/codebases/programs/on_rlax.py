"""returns, losses and exploration"""

# packages: rlax
import jax
import jax.numpy as jnp
import rlax

r, d, v = jnp.array([1.0, 0.5, -1.0]), jnp.full(3, 0.9), jnp.array([0.1, 0.2, 0.3])
g = rlax.lambda_returns(r, d, v, 0.8)
adv = rlax.truncated_generalized_advantage_estimation(r, d, 0.9, jnp.array([0.1, 0.2, 0.3, 0.4]))
td = jax.vmap(rlax.q_learning)(jnp.ones((3, 2)), jnp.array([0, 1, 0]), r, d, jnp.ones((3, 2)) * 2)
ppo = rlax.clipped_surrogate_pg_loss(jnp.array([1.1, 0.9, 1.3]), adv, 0.2)
vt = rlax.vtrace_td_error_and_advantage(v, v + 0.1, r, d, jnp.ones(3))
print(
    *map(float, g),
    *map(float, adv),
    *map(float, td),
    float(ppo),
    float(vt.pg_advantage.sum()),
    float(rlax.softmax().sample(jax.random.PRNGKey(0), jnp.arange(4.0))),
)
