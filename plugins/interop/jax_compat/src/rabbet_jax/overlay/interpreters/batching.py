"""``jax.interpreters.batching``."""

from rabbet.extend.primitive import move_axis as moveaxis
from rabbet.extend.transform import Tracer, batch

from rabbet_jax.primitives import (
    AxisData,
    axis_primitive_batchers,
    fancy_primitive_batchers,
    primitive_batchers,
)
from rabbet_jax.vmappable import is_vmappable, register_vmappable, unregister_vmappable

not_mapped = None


class _BatchTracers(type):
    def __instancecheck__(cls, x):
        return type(x) is Tracer and x.interpreter.table is batch


class BatchTracer(metaclass=_BatchTracers):
    """What a mapped value is an instance of."""


def defvectorized(primitive):
    """Map a primitive that acts element by element."""

    def rule(args, axes, **params):
        (first,) = {axis for axis in axes if axis is not None}
        return primitive.bind(*args, **params), first

    primitive_batchers[primitive] = rule


ABSENT = "broadcast bdim_at_front defbroadcasting defreducer zero_if_mapped"
__all__ = [
    "AxisData",
    "BatchTracer",
    "axis_primitive_batchers",
    "defvectorized",
    "fancy_primitive_batchers",
    "is_vmappable",
    "moveaxis",
    "not_mapped",
    "primitive_batchers",
    "register_vmappable",
    "unregister_vmappable",
]
