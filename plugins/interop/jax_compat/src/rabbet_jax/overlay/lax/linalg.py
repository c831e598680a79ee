"""``jax.lax.linalg``: with primitives as ``cholesky_p``."""

from rabbet_jax.named import primitive_named


def __getattr__(name):
    return primitive_named(name)
