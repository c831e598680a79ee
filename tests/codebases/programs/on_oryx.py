"""a probabilistic program's log density, and an inverse"""

# packages: oryx
import jax.numpy as jnp
from oryx.core import inverse

print(float(inverse(lambda x: jnp.exp(x) * 2)(4.0)))
