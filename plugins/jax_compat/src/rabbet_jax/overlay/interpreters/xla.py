"""``jax.interpreters.xla``."""

ABSENT = "Backend canonicalize_dtype_handlers apply_primitive"
