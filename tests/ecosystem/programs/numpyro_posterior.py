"""numpyro: NUTS finds mean and deviation of normal numbers. Long chains of chaotic steps part company by
rounding, so what is compared is the posterior, to the error of so many samples.
"""

import jax
import numpyro
import numpyro.distributions as dist
from numpyro.infer import MCMC, NUTS


def model(y):
    mean = numpyro.sample("mean", dist.Normal(0, 5))
    deviation = numpyro.sample("deviation", dist.HalfNormal(2))
    numpyro.sample("y", dist.Normal(mean, deviation), obs=y)


y = jax.random.normal(jax.random.PRNGKey(3), (50,)) * 2 + 1
mcmc = MCMC(NUTS(model), num_warmup=300, num_samples=1000, progress_bar=False)
mcmc.run(jax.random.PRNGKey(0), y=y)
samples = mcmc.get_samples()
print(float(samples["mean"].mean()), float(samples["deviation"].mean()))
