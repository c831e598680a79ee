"""``jax.experimental.pallas.triton``: ``rabbet.experimental.pallas.triton``, and an older name."""

from rabbet.experimental.pallas import triton

OPEN = True
WHY = "Rabbet's Pallas does not have it", "choose the library's implementation without this kernel"
TritonCompilerParams = triton.CompilerParams
