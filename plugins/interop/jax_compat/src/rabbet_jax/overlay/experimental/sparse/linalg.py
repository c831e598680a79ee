"""``jax.experimental.sparse.linalg``: with the primitive of ``spsolve``."""

from rabbet_jax.composed_primitives import composed


def __getattr__(name):
    if name == "spsolve_p":
        return composed("spsolve")
    raise AttributeError(name)
