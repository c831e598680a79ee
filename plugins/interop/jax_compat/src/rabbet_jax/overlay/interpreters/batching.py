"""``jax.interpreters.batching``."""

import rabbet as rb
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


class ZeroIfMapped:
    """What says, as an axis of a result: the first dimension if the result is mapped."""


zero_if_mapped = ZeroIfMapped()


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


def broadcast(x, sz, axis, mesh_axis=None):
    """``x`` repeated along a new axis of this size."""
    return moveaxis(rb.lax.broadcast(x, (sz,)), 0, axis)


def bdim_at_front(x, bdim, size, mesh_axis=None):
    """``x`` with its mapped dimension first; ``not_mapped``: repeated."""
    return broadcast(x, size, 0) if bdim is not_mapped else moveaxis(x, bdim, 0)


def defbroadcasting(primitive):
    """Map a primitive whose operands may be broadcast against each other: mapped ones get the mapped
    dimension first, others a dimension of size 1.
    """

    def rule(args, axes, **params):
        ndim = max(x.ndim - (axis is not None) for x, axis in zip(args, axes, strict=True))
        ready = []
        for x, axis in zip(args, axes, strict=True):
            own = x.ndim - (axis is not None)
            front = x[None] if axis is None else moveaxis(x, axis, 0)
            ready.append(front.reshape(front.shape[0], *[1] * (ndim - own if own else 0), *front.shape[1:]))
        return primitive.bind(*ready, **params), 0

    primitive_batchers[primitive] = rule


def defreducer(primitive):
    """Map a primitive that reduces its operand over ``axes``."""

    def rule(args, dims, axes, **params):
        (x,), (dim,) = args, dims
        moved = tuple([a + (a >= dim) for a in axes])
        return primitive.bind(x, axes=moved, **params), dim - sum(a < dim for a in moved)

    primitive_batchers[primitive] = rule


ABSENT = "zero_if_mapped"
__all__ = [
    "AxisData",
    "BatchTracer",
    "axis_primitive_batchers",
    "bdim_at_front",
    "broadcast",
    "defbroadcasting",
    "defreducer",
    "defvectorized",
    "fancy_primitive_batchers",
    "is_vmappable",
    "moveaxis",
    "not_mapped",
    "primitive_batchers",
    "register_vmappable",
    "unregister_vmappable",
]
