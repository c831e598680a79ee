"""Tangents and cotangents: adding them, spreading them, making symbolic zeros real.

Every family uses this module while it is being imported, so it names the families only when a rule runs.
"""

import numpy as np

from rabbet import dtypes, primitives
from rabbet.program import python_scalars
from rabbet.rules.payloads import Dual, Zero, zero_for
from rabbet.trace.interpreter import typeof


def full(aval, value):
    """An array of type ``aval`` filled with a scalar; for float0, the NumPy array of that dtype, for an
    extended dtype elements stored as that scalar.
    """
    if aval.dtype == dtypes.float0:
        return np.zeros(aval.shape, dtypes.float0)
    if aval.is_extended:
        stored = full(aval.physical, value)
        return primitives.keys.from_physical(stored, dtype=aval.dtype)  # type: ignore[attr-defined]
    scalar = python_scalars.typed(value, aval.dtype)
    if not aval.shape:
        return scalar
    return primitives.shape.broadcast_in_dim(scalar, shape=aval.shape, broadcast_dimensions=())


def instantiate(t):
    """``t``, or an array of zeros if it is a symbolic zero."""
    return full(t.aval, 0) if type(t) is Zero else t


def add_tangents(a, b):
    """The sum of two tangents of which either may be a symbolic zero."""
    if type(a) is Zero:
        return b
    if type(b) is Zero:
        return a
    return primitives.elementwise.add(a, b)


def spread(t, out_shape):
    """A tangent of shape ``out_shape`` from one that is a scalar beside arrays."""
    if type(t) is Zero or typeof(t).shape == out_shape:
        return t
    return primitives.shape.broadcast_in_dim(t, shape=out_shape, broadcast_dimensions=())


def gather_in(ct, aval):
    """The cotangent of an operand that was spread from a scalar: summed; else ``ct`` itself."""
    have = typeof(ct)
    if have.shape == aval.shape:
        return ct
    return primitives.reductions.reduce_sum(ct, axes=tuple(range(have.ndim)))


def no_tangent(op, *duals):
    """The jvp rule of operations that carry no derivative: integers, comparisons, roundings."""
    out = op(*[d.primal for d in duals])
    if op.primitive.multiple_results:
        return [Dual(o, zero_for(typeof(o))) for o in out]
    return Dual(out, zero_for(typeof(out)))
