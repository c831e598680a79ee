"""``jax.extend``."""
