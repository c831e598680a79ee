"""Kepler's equation and a light curve"""

# packages: jaxoplanet
import jax
import jax.numpy as jnp
from jaxoplanet.core.kepler import kepler
from jaxoplanet.light_curves import limb_dark_light_curve
from jaxoplanet.orbits import TransitOrbit

orbit = TransitOrbit(period=3.456, duration=0.12, time_transit=0.0, impact_param=0.1, radius_ratio=0.1)
t = jnp.linspace(-0.1, 0.1, 5)
print(
    *map(float, limb_dark_light_curve(orbit, jnp.array([0.1, 0.3]))(t)),
    *map(float, kepler(jnp.array(0.7), jnp.array(0.3))),
    float(jax.grad(lambda e: kepler(0.7, e)[0])(0.3)),
)
