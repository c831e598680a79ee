"""``jax.experimental.array_serialization.serialization``: rabbet-store's names, where that is installed."""

OPEN = True  # every other name can be read
