"""``jax.interpreters.pxla``."""

ABSENT = "thread_resources"
