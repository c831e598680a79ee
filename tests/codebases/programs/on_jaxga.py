"""geometric algebra"""

# packages: jaxga
import jax.numpy as jnp
from jaxga.mv import MultiVector

a = 2 * MultiVector.e(1) + 4 * MultiVector.e(2)
b = 3 * MultiVector.e(1) - MultiVector.e(2)
print(*(float(jnp.sum(v)) for v in (a * b).values))
