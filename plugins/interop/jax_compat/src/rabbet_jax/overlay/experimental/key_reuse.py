"""``jax.experimental.key_reuse``: JAX has no public name there; the setting is ``debug_key_reuse``."""
