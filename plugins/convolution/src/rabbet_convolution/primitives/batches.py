"""Batch dimensions, for ``batch`` rules."""

from rabbet.extend.primitive import move_axis, new_axis
from rabbet.extend.transform import typeof


def size_of(*batched):
    """The size of the batch dimension, from any operand that has one."""
    return next(typeof(b.value).shape[b.axis] for b in batched if b.axis is not None)


def at(b, axis, size):
    """The value of ``b`` with its batch dimension at ``axis``, repeated there if it has none."""
    return new_axis(b.value, axis, size) if b.axis is None else move_axis(b.value, b.axis, axis)


def at_front(*batched):
    """The values of all operands with the batch dimension in front, repeated where there was none."""
    size = size_of(*batched)
    return [at(b, 0, size) for b in batched]
