"""``jax.interpreters.ad``."""

import rabbet as rb
from rabbet.extend.primitive import Linear as UndefinedPrimal
from rabbet.extend.primitive import Zero, instantiate
from rabbet.extend.primitive import add_tangents as add_jaxvals
from rabbet.extend.transform import Tracer, jvp

from rabbet_jax.primitives import defjvp, deflinear, primitive_jvps, primitive_transposes


def deflinear2(primitive, transpose_rule):
    """A linear primitive; ``transpose_rule(cotangent, *operands, **params)`` gives a cotangent for each."""
    deflinear(primitive, None)
    primitive_transposes[primitive] = transpose_rule


def defbilinear(primitive, lhs_rule, rhs_rule):
    """A product: linear in each of two operands while the other is fixed. ``lhs_rule(cotangent, x, y)`` gives
    the cotangent of the first, ``rhs_rule`` of the second.
    """
    defjvp(
        primitive,
        lambda t, x, y, **params: primitive.bind(t, y, **params),
        lambda t, x, y, **params: primitive.bind(x, t, **params),
    )

    def transpose(ct, x, y, **params):
        if is_undefined_primal(x):
            return [None if type(ct) is Zero else lhs_rule(ct, x, y, **params), None]
        return [None, None if type(ct) is Zero else rhs_rule(ct, x, y, **params)]

    primitive_transposes[primitive] = transpose


def zeros_like_aval(aval):
    """An array of zeros of a type."""
    return rb.numpy.zeros(aval.shape, aval.dtype)


def add_tangents(x, y):
    """The sum of two tangents, of which either may be a ``Zero``."""
    if type(x) is Zero:
        return y
    return x if type(y) is Zero else add_jaxvals(x, y)


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


ABSENT = "JVPTrace backward_pass defjvp2 get_primitive_transpose linearize"
__all__ = [
    "JVPTracer",
    "UndefinedPrimal",
    "Zero",
    "add_jaxvals",
    "add_tangents",
    "defbilinear",
    "defjvp",
    "deflinear",
    "deflinear2",
    "instantiate_zeros",
    "is_undefined_primal",
    "primitive_jvps",
    "primitive_transposes",
    "zeros_like_aval",
]  # fmt: skip
