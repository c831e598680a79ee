"""Batch dimensions, for ``batch`` rules."""

from rabbet.extend.primitive import move_axis, new_axis
from rabbet.extend.transform import typeof


def at_front(*batched):
    """The values of all operands with the batch dimension in front, repeated where there was none."""
    size = next(typeof(b.value).shape[b.axis] for b in batched if b.axis is not None)
    return [new_axis(b.value, 0, size) if b.axis is None else move_axis(b.value, b.axis, 0) for b in batched]
