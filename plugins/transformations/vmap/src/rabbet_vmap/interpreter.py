"""Batching: the payload is a value with one more dimension, and where that dimension is.

The position is static: it belongs to the payload's structure, not to its leaves. A value without the
dimension is plain.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rabbet import lax, tree
from rabbet.extend.bodies import HOLE, PLAIN
from rabbet.extend.primitive import Batched, full_of_type, move_axis, new_axis
from rabbet.extend.transform import Interpreter, batch, collective, payload_of, typeof

from rabbet_vmap import predicates

if TYPE_CHECKING:
    from rabbet.extend.primitive import Op, ShapedArray
    from rabbet.typing import Value


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

    def __init__(self, size: int, name: str | None = None, spmd_name: Any = None) -> None:
        self.size = size
        self.name = name
        self.spmd_name = spmd_name
        self.bound: tuple = () if name is None else ((name, size),)

    def key(self) -> tuple[Any, ...]:
        return Vmap, self.size, self.name, self.spmd_name

    def lift(self, value: Any) -> Any:
        return Batched(value, None)

    def type_of(self, b: Batched) -> ShapedArray:
        aval = typeof(b.value)
        if b.axis is None:
            return aval
        return aval.without(b.axis)

    def wrap(self, b: Batched) -> Any:
        return b.value if b.axis is None else super().wrap(b)

    def join(self, a: Batched, b: Batched) -> Batched:
        """Two batched values: at the axis of the first."""
        return a

    def force(self, b: Batched, like: Batched) -> Batched:
        return Batched(self.at_axis(b, like.axis), like.axis)

    def sliced(self, b: Batched) -> Any:
        """The scanned dimension in front, the batch dimension behind it."""
        return Batched(move_axis(b.value, b.axis, 1), 1), Batched(HOLE, 0)

    def stacked(self, b: Any) -> Batched:
        return Batched(b.value, b.axis + 1)

    def added_dimension(self, structure: Any) -> Any:
        return tree.unflatten(structure, [HOLE]).axis

    @property
    def added_over(self) -> Any:
        """The axes of a mesh over which the batch dimension lies (``spmd_axis_name``)."""
        return self.spmd_name

    def of_part(self, count: Any) -> Any:
        """For programs on parts of a batch."""
        part = self.fresh()
        part.size = self.size // count
        part.bound = () if part.name is None else ((part.name, part.size),)
        return part

    def predicate(self, op: Op, args: tuple[Value, ...]) -> list[Value]:
        return predicates.decide(self, op, args)

    def collective(self, op: Op, args: tuple[Value, ...]) -> Any:
        """Communication between the examples: the batch dimension is the axis."""
        return self.wrap(collective.lookup(op.primitive)(op, *[payload_of(self, x) for x in args]))

    def at_axis(self, b: Batched, axis: Any) -> Value:
        """The value of a payload with its batch dimension at ``axis``, repeated there if it has none."""
        return new_axis(b.value, axis, self.size) if b.axis is None else move_axis(b.value, b.axis, axis)

    def uniform(self, b: Batched) -> Batched:
        return Batched(self.at_axis(b, 0), 0)

    def collapse(self, b: Batched) -> Value:
        """All examples are equal: the first one; of no examples, zeros."""
        if self.size == 0:
            return full_of_type(self.type_of(b), 0)
        return lax.index_in_dim(b.value, 0, b.axis, keepdims=False)

    def give_back(self, b: Batched, structure: Any) -> Value:
        if structure is PLAIN:
            return b.value if b.axis is None else lax.reduce_sum(b.value, axes=(b.axis,))
        return self.at_axis(b, tree.unflatten(structure, [None]).axis)

    def describe(self) -> str:
        return "vmap" + super().describe().removeprefix("Vmap")
