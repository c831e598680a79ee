"""``jax.experimental.pallas.tpu``: ``rabbet.experimental.pallas.tpu``."""

OPEN = True
WHY = "Rabbet's Pallas does not have it", "choose the library's implementation without this kernel"
