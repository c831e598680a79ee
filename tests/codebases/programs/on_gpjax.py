"""a posterior of a Gaussian process"""

# packages: gpjax
import gpjax as gpx
import jax.numpy as jnp

x = jnp.linspace(0, 1, 8)[:, None]
d = gpx.Dataset(x, jnp.sin(6 * x))
prior = gpx.gps.Prior(kernel=gpx.kernels.RBF(), mean_function=gpx.mean_functions.Zero())
posterior = prior * gpx.likelihoods.Gaussian(8)
print(float(gpx.objectives.conjugate_mll(posterior, d)))
