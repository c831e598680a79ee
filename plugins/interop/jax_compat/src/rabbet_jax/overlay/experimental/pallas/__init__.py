"""``jax.experimental.pallas``: ``rabbet.experimental.pallas``. Kernels that JAX ships below ``ops`` are run
from jax's files where jax is installed. Names that are not there can be read, and raise when they are called.
"""

OPEN = True  # every name can be read
OPEN_BELOW = True  # and every module below imported
WHY = "Rabbet's Pallas does not have it", "choose the library's implementation without this kernel"
