"""an optimizer over a model's sites"""

# packages: numpyro-ext numpyro jaxopt
import jax
import jax.numpy as jnp
import numpyro
import numpyro.distributions as dist
from numpyro_ext import distributions as distx
from numpyro_ext import optim


def model(y):
    m = numpyro.sample("m", dist.Normal(0, 2))
    numpyro.sample("y", dist.Normal(m, 1.0), obs=y)


out = optim.optimize(model)(jax.random.PRNGKey(0), jnp.array([1.0, 2.0, 3.0]))
print(round(float(out["m"]), 3), *map(float, distx.Angle().sample(jax.random.PRNGKey(1), (2,))))
