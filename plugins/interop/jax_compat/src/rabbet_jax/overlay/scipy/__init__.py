"""``jax.scipy``."""
