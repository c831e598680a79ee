"""a model's log probability compiled by its JAX linker"""

# packages: pymc
import jax
import numpy as np
import pymc as pm
from pymc.sampling.jax import get_jaxified_logp

with pm.Model() as model:
    m = pm.Normal("m", 0, 1)
    s = pm.HalfNormal("s", 1)
    pm.Normal("y", m, s, observed=np.array([1.0, 2.0, 3.0]))
f = get_jaxified_logp(model)
x = [np.array(0.5), np.array(0.1)]
print(float(f(x)), *map(float, jax.grad(lambda x: f(x))([jax.numpy.array(0.5), jax.numpy.array(0.1)])))
