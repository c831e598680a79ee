"""``jax.custom_derivatives``."""

import rabbet as rb
from rabbet.extend.primitive import tangent_aval

ABSENT = (
    "custom_jvp_call_p custom_vjp_call_p custom_vjp_primal_tree_values custom_gradient "
    "CustomVJPPrimal SymbolicZero linear_call"
)


def zero_from_primal(value, symbolic_zeros=False):
    """The zero tangent of a value."""
    aval = tangent_aval(rb.typeof(value))
    return rb.numpy.zeros(aval.shape, aval.dtype)


__all__ = ["zero_from_primal"]
