"""``jax.experimental.array_serialization``: names only; libraries import them for their checkpoints."""
