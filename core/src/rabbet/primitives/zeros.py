"""Tangents and cotangents: adding them, spreading them, making symbolic zeros real.

Every family uses this module while it is being imported, so it names the families only when a rule runs.
"""

import numpy as np

from rabbet import dtypes, primitives
from rabbet.program import python_scalars
from rabbet.rules.payloads import Dual, Zero, zero_tangent
from rabbet.trace.interpreter import typeof


def full_of_type(aval, value):
    """An array of type ``aval`` filled with a scalar; for float0, the NumPy array of that dtype, for an
    extended dtype elements stored as that scalar.

    Example:
      >>> from rabbet.extend.primitive import full_of_type
      >>> full_of_type(rb.typeof(np.ones(3, np.float32)), 7)
      Array([7., 7., 7.], dtype=float32)
    """
    if aval.dtype == dtypes.float0:
        return np.zeros(aval.shape, dtypes.float0)
    if aval.is_extended:
        stored = full_of_type(aval.physical, value)
        return primitives.stored.from_physical(stored, dtype=aval.dtype)  # type: ignore[attr-defined]
    scalar = python_scalars.typed(value, aval.dtype)
    if not aval.shape:
        return scalar
    return primitives.shape.broadcast_in_dim(scalar, shape=aval.shape, broadcast_dimensions=())


def instantiate(t):
    """``t``, or an array of zeros if it is a symbolic zero.

    Example:
      >>> from rabbet.extend.primitive import Zero, instantiate
      >>> instantiate(Zero(rb.typeof(np.ones(2, np.float32))))
      Array([0., 0.], dtype=float32)
      >>> instantiate(5.0)
      5.0
    """
    return full_of_type(t.aval, 0) if type(t) is Zero else t


def add_tangents(a, b):
    """The sum of two tangents of which either may be a symbolic zero.

    Example:
      >>> from rabbet.extend.primitive import Zero, add_tangents
      >>> add_tangents(Zero(rb.typeof(1.0)), 5.0)
      5.0
      >>> float(add_tangents(2.0, 5.0))
      7.0
    """
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
    """The jvp rule of operations that carry no derivative: integers, comparisons, roundings.

    Example:
      >>> from rabbet.extend.primitive import Dual, no_tangent
      >>> no_tangent(lax.floor.op(), Dual(2.5, 1.0)).tangent
      Zero(f32[])
    """
    out = op(*[d.primal for d in duals])
    if op.primitive.multiple_results:
        return [Dual(o, zero_tangent(typeof(o))) for o in out]
    return Dual(out, zero_tangent(typeof(out)))
