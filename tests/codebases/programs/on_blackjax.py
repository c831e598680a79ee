"""NUTS and HMC on a Gaussian, with adaptation"""

# packages: blackjax
import blackjax
import jax
import jax.numpy as jnp

logp = lambda x: -0.5 * jnp.sum((x - 1) ** 2 / jnp.array([1.0, 4.0]))
hmc = blackjax.hmc(logp, step_size=0.3, inverse_mass_matrix=jnp.ones(2), num_integration_steps=5)
state = hmc.init(jnp.zeros(2))


def one(state, key):
    state, _ = jax.jit(hmc.step)(key, state)
    return state, state.position


_, xs = jax.lax.scan(one, state, jax.random.split(jax.random.PRNGKey(0), 200))
mala = blackjax.mala(logp, 0.1)
s = mala.init(jnp.zeros(2))
s, info = mala.step(jax.random.PRNGKey(1), s)
print(*(round(float(v), 1) for v in xs[:20].mean(0)), *map(float, s.position))
