"""its rotations"""

# packages: jaxsim
import jax.numpy as jnp
from jaxsim.math import Rotation, Skew

print(*map(float, Rotation.x(jnp.array(0.3)).ravel()), *map(float, Skew.wedge(jnp.arange(3.0)).ravel()))
