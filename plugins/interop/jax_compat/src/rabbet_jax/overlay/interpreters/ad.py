"""``jax.interpreters.ad``."""

from rabbet.extend.primitive import Linear as UndefinedPrimal
from rabbet.extend.primitive import Zero, instantiate
from rabbet.extend.primitive import add_tangents as add_jaxvals
from rabbet.extend.transform import Tracer, jvp

from rabbet_jax.primitives import defjvp, deflinear, primitive_jvps, primitive_transposes

deflinear2 = deflinear


class _JVPTracers(type):
    def __instancecheck__(cls, x):
        return type(x) is Tracer and x.interpreter.table is jvp


class JVPTracer(metaclass=_JVPTracers):
    """What a value of forward mode is an instance of."""


def is_undefined_primal(x):
    """Whether an operand of a transposition is one that it is linear in."""
    return type(x) is UndefinedPrimal


def instantiate_zeros(tangent):
    """A tangent as an array, if it is a symbolic zero."""
    return instantiate(tangent)


ABSENT = "JVPTrace backward_pass defbilinear defjvp2 get_primitive_transpose jvp linearize zeros_like_aval"
__all__ = [
    "JVPTracer",
    "UndefinedPrimal",
    "Zero",
    "add_jaxvals",
    "defjvp",
    "deflinear",
    "deflinear2",
    "instantiate_zeros",
    "is_undefined_primal",
    "primitive_jvps",
    "primitive_transposes",
]  # fmt: skip
