"""``jax.extend.core.primitives``: Rabbet's primitives under JAX's names, ``add_p``."""

import importlib

from rabbet_jax.primitives_by_name import primitive_named

# Functions that JAX shows here too.
HERE_TOO = ("create_call_primitive", "register_call_primitive_rules")

ABSENT = "jit_p custom_jvp_call_p custom_vjp_call_p"


def __getattr__(name):
    if name in HERE_TOO:
        return getattr(importlib.import_module("rabbet_jax.overlay.extend.core"), name)
    return primitive_named(name)
