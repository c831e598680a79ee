"""a stochastic trace"""

# packages: matfree
import jax
import jax.numpy as jnp
from matfree import stochtrace

a = jnp.array([[4.0, 1, 0], [1, 3, 1], [0, 1, 2]])
sample = stochtrace.sampler_signs(jnp.ones(3), num=50)
estimate = stochtrace.estimator_monte_carlo(stochtrace.monte_carlo_trace(), sample)
print(float(estimate(lambda v: a @ v, jax.random.PRNGKey(0))))
