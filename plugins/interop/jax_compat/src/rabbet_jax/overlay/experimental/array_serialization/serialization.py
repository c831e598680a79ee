"""``jax.experimental.array_serialization.serialization``: names only."""

OPEN = True  # every name can be read
