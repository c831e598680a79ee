"""``jax.experimental.pallas``: a language for kernels that only JAX compiles. Libraries import it at their
head and use it on hardware for which they have such kernels, so its names, and those of all modules below it,
can be read.
"""

OPEN = True  # every name can be read
OPEN_BELOW = True  # and every module below imported
WHY = "Rabbet has no Pallas", "choose the library's implementation without Pallas kernels"
