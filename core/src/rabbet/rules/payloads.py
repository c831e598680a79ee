"""The payloads of the standard tables: what the rules beside each primitive receive and return.

A payload is a pytree of arrays; its treedef is its static part. So a symbolic zero is a node without
leaves, and a batch axis is part of the tree's structure, not one of its leaves.
"""

import functools
from typing import Any, NamedTuple

from rabbet import dtypes, tree
from rabbet.program.avals import ShapedArray


class Zero:
    """A tangent or cotangent known to be zero, of the given aval. It has no leaves."""

    __slots__ = ("aval",)

    def __init__(self, aval):
        self.aval = aval

    def __repr__(self):
        return f"Zero({self.aval.str_short()})"


class Dual(NamedTuple):
    """A value and its tangent (``Zero`` where it has none): the payload of forward mode."""

    primal: Any
    tangent: Any


class Batched:
    """A value with one batch dimension at ``axis``, or none where ``axis`` is None: the payload of vmap."""

    __slots__ = ("value", "axis")

    def __init__(self, value, axis):
        self.value = value
        self.axis = axis

    def __repr__(self):
        return f"Batched({self.value}, axis={self.axis})"


class Linear:
    """Stands for a linear operand while its equation is transposed; only its aval is known."""

    __slots__ = ("aval",)

    def __init__(self, aval):
        self.aval = aval

    shape = property(lambda self: self.aval.shape)
    dtype = property(lambda self: self.aval.dtype)
    ndim = property(lambda self: self.aval.ndim)

    def __array__(self, dtype=None, copy=None):
        raise TypeError(
            "a function to be transposed is not linear: the value of an operand of type "
            f"{self.aval.str_short()} that depends on "
            f"its arguments is needed"
        )

    def __repr__(self):
        return f"Linear({self.aval.str_short()})"


tree.register_node(Zero, lambda zero: ((), zero.aval), lambda aval, _: Zero(aval))
tree.register_node(Batched, lambda b: ((b.value,), b.axis), lambda axis, children: Batched(children[0], axis))


@functools.cache
def tangent_aval(aval):
    """The aval of a tangent of ``aval``: the same for floating and complex dtypes, float0 for all others."""
    if dtypes.issubdtype(aval.dtype, dtypes.inexact):
        return aval.strong()
    return ShapedArray(aval.shape, dtypes.float0)


def zero_for(aval):
    """The symbolic zero tangent of a primal of type ``aval``."""
    return Zero(tangent_aval(aval))
