"""``jax.random``: with its primitive."""

from rabbet_jax.composed_primitives import composed


def __getattr__(name):
    if name == "random_gamma_p":
        return composed("random_gamma")
    raise AttributeError(name)
