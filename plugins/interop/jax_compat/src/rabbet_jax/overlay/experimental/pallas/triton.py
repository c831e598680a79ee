"""``jax.experimental.pallas.triton``: ``rabbet.experimental.pallas.triton``."""

OPEN = True
WHY = "Rabbet's Pallas does not have it", "choose the library's implementation without this kernel"
