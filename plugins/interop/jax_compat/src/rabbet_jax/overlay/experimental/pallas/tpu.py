"""``jax.experimental.pallas.tpu``: ``rabbet.experimental.pallas.tpu``, with names that JAX had before."""

from rabbet.experimental.pallas import ANY as ANY
from rabbet.experimental.pallas import tpu

OPEN = True
WHY = "Rabbet's Pallas does not have it", "choose the library's implementation without this kernel"
TPUCompilerParams, TPUMemorySpace = tpu.CompilerParams, tpu.MemorySpace
