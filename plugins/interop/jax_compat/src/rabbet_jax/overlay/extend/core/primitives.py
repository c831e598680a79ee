"""``jax.extend.core.primitives``: Rabbet's primitives under JAX's names, ``add_p``."""

from rabbet_jax.primitives_by_name import primitive_named

ABSENT = "call_p closed_call_p jit_p custom_jvp_call_p custom_vjp_call_p"


def __getattr__(name):
    return primitive_named(name)
