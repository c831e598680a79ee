"""Batching: the payload is a value with one more dimension, and where that dimension is.

The position is static: it belongs to the payload's structure, not to its leaves. A value without the
dimension is plain.
"""

from rabbet import lax, tree
from rabbet.extend.bodies import HOLE, PLAIN
from rabbet.extend.primitive import Batched, full_of_type, move_axis, new_axis
from rabbet.extend.transform import Interpreter, batch, collective, payload_of, typeof

from rabbet_vmap import predicates


class Vmap(Interpreter):
    """Payload: ``Batched(value, axis)``.

    Args:
      size: the size of the batch dimension.
      name: its name for collectives, or None.
      spmd_name: mesh axes that the dimension is laid over, or None.
    """

    __slots__ = ("bound", "name", "size", "spmd_name")
    table = batch
    carries = True
    lifts_typed = False

    def __init__(self, size, name=None, spmd_name=None):
        self.size = size
        self.name = name
        self.spmd_name = spmd_name
        self.bound: tuple = () if name is None else ((name, size),)

    def key(self):
        return Vmap, self.size, self.name, self.spmd_name

    def lift(self, value):
        return Batched(value, None)

    def type_of(self, b):
        aval = typeof(b.value)
        if b.axis is None:
            return aval
        return aval.without(b.axis)

    def wrap(self, b):
        return b.value if b.axis is None else super().wrap(b)

    def join(self, a, b):
        """Two batched values: at the axis of the first."""
        return a

    def force(self, b, like):
        return Batched(self.at_axis(b, like.axis), like.axis)

    def sliced(self, b):
        """The scanned dimension in front, the batch dimension behind it."""
        return Batched(move_axis(b.value, b.axis, 1), 1), Batched(HOLE, 0)

    def stacked(self, b):
        return Batched(b.value, b.axis + 1)

    def added_dimension(self, structure):
        return tree.unflatten(structure, [HOLE]).axis

    @property
    def added_over(self):
        """The axes of a mesh over which the batch dimension lies (``spmd_axis_name``)."""
        return self.spmd_name

    def of_part(self, count):
        """For programs on parts of a batch."""
        part = self.fresh()
        part.size = self.size // count
        part.bound = () if part.name is None else ((part.name, part.size),)
        return part

    def predicate(self, op, args):
        return predicates.decide(self, op, args)

    def collective(self, op, args):
        """Communication between the examples: the batch dimension is the axis."""
        return self.wrap(collective.lookup(op.primitive)(op, *[payload_of(self, x) for x in args]))

    def at_axis(self, b, axis):
        """The value of a payload with its batch dimension at ``axis``, repeated there if it has none."""
        return new_axis(b.value, axis, self.size) if b.axis is None else move_axis(b.value, b.axis, axis)

    def uniform(self, b):
        return Batched(self.at_axis(b, 0), 0)

    def collapse(self, b):
        """All examples are equal: the first one; of no examples, zeros."""
        if self.size == 0:
            return full_of_type(self.type_of(b), 0)
        return lax.index_in_dim(b.value, 0, b.axis, keepdims=False)

    def give_back(self, b, structure):
        if structure is PLAIN:
            return b.value if b.axis is None else lax.reduce_sum(b.value, axes=(b.axis,))
        return self.at_axis(b, tree.unflatten(structure, [None]).axis)

    def describe(self):
        return "vmap" + super().describe().removeprefix("Vmap")
