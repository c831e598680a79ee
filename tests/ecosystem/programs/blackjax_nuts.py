"""blackjax: NUTS with window adaptation, on the posterior of a mean and a scale."""

import blackjax
import jax
import jax.numpy as jnp
import jax.scipy.stats as stats

key = jax.random.PRNGKey(0)
data = 3.0 + 2.0 * jax.random.normal(key, (200,))


def logdensity(x):
    scale = jnp.exp(x["log_scale"])
    prior = stats.norm.logpdf(x["log_scale"])
    return jnp.sum(stats.norm.logpdf(data, x["loc"], scale)) + x["log_scale"] + prior


warm, run = jax.random.split(jax.random.PRNGKey(1))
adaptation = blackjax.window_adaptation(blackjax.nuts, logdensity)
(state, parameters), _ = adaptation.run(warm, {"loc": 0.0, "log_scale": 0.0}, num_steps=300)
kernel = jax.jit(blackjax.nuts(logdensity, **parameters).step)


def one_step(state, key):
    state, info = kernel(key, state)
    return state, (state.position, info.acceptance_rate)


_, (positions, accepted) = jax.lax.scan(one_step, state, jax.random.split(run, 1000))
print(float(positions["loc"].mean()), float(jnp.exp(positions["log_scale"]).mean()), float(accepted.mean()))
