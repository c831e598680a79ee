"""``jax.experimental.custom_partitioning``: with its primitive."""

from rabbet_jax.primitives_by_name import primitive_named


def __getattr__(name):
    if name == "custom_partitioning_p":
        return primitive_named(name)
    raise AttributeError(name)
