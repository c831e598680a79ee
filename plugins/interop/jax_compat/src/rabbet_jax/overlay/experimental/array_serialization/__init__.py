"""``jax.experimental.array_serialization``: rabbet-store's, where that is installed."""
