"""``jax.lax.linalg``: with primitives as ``cholesky_p``."""

from rabbet_jax.primitives_by_name import primitive_named


def __getattr__(name):
    return primitive_named(name)
