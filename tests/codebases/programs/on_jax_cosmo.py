"""distances and a power spectrum, with a derivative"""

# packages: jax-cosmo setuptools<81
import jax
import jax.numpy as jnp
import jax_cosmo as jc

f = lambda om: jc.background.radial_comoving_distance(
    jc.Cosmology(om, 0.05, 0.7, 0.96, 0.8, 0.0, -1.0, 0.0), jnp.array([0.5])
).sum()
pk = jc.power.linear_matter_power(jc.Planck15(), jnp.logspace(-2, 0, 4), a=1.0)
print(float(f(0.25)), float(jax.grad(f)(0.25)), *map(float, pk))
