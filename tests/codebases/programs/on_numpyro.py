"""NUTS, variational inference, and handlers"""

# packages: numpyro
import jax
import jax.numpy as jnp
import numpyro
import numpyro.distributions as dist
from numpyro.infer import MCMC, NUTS, SVI, Trace_ELBO
from numpyro.infer.autoguide import AutoNormal

x = jnp.linspace(-1, 1, 20)
y = 2 * x + 0.5


def model(x, y=None):
    a = numpyro.sample("a", dist.Normal(0, 1))
    b = numpyro.sample("b", dist.Normal(0, 1))
    s = numpyro.sample("s", dist.HalfNormal(1))
    numpyro.sample("y", dist.Normal(a * x + b, s + 0.1), obs=y)


mcmc = MCMC(NUTS(model), num_warmup=100, num_samples=100, progress_bar=False)
mcmc.run(jax.random.PRNGKey(0), x, y)
guide = AutoNormal(model)
svi = SVI(model, guide, numpyro.optim.Adam(0.02), Trace_ELBO())
result = svi.run(jax.random.PRNGKey(1), 200, x, y, progress_bar=False)
trace = numpyro.handlers.trace(numpyro.handlers.seed(model, 0)).get_trace(x)
print(
    round(float(mcmc.get_samples()["a"].mean()), 1),
    round(float(mcmc.get_samples()["b"].mean()), 1),
    round(float(result.params["a_auto_loc"]), 1),
    float(trace["y"]["value"].sum()),
)
