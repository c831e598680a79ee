"""``jax.interpreters``: views on Rabbet's rule tables."""
