"""Evaluate a function on boxes [lo, hi]; the answer contains every possible result."""

from collections.abc import Callable
from functools import reduce
from typing import Any, NamedTuple

from rabbet import Array, lax, typeof
from rabbet.extend.primitive import Op
from rabbet.extend.transform import Interpreter, RuleTable, run


class Box(NamedTuple):
    """Every array that lies between ``lo`` and ``hi``, element by element."""

    lo: Array
    hi: Array


rules = RuleTable("enclose", doc="(op, *boxes) -> Box")


# A primitive that grows with each of its inputs maps corners to corners, and so does one that only moves
# elements.
@rules.kind("increasing", "structural")
def increasing(op: Op, *boxes: Box) -> Box:
    return Box(op(*(b.lo for b in boxes)), op(*(b.hi for b in boxes)))


@rules.kind("decreasing")
def decreasing(op: Op, *boxes: Box) -> Box:
    return Box(op(*(b.hi for b in boxes)), op(*(b.lo for b in boxes)))


@rules.kind("indexed")
def indexed(op: Op, *boxes: Box) -> Box:
    """Both corners are taken at the same places, so the indices must not depend on the box."""
    indices: slice = op.primitive.indices
    if any(b.lo is not b.hi for b in boxes[indices]):
        raise TypeError(f"{op.primitive.name}: an index that lies in a box chooses no one element")
    return increasing(op, *boxes)


@rules.primitive(lax.sub)
def sub(op: Op, x: Box, y: Box) -> Box:
    return Box(op(x.lo, y.hi), op(x.hi, y.lo))


# The extremes of a product lie on corners, but which corners depends on the signs.
@rules.primitive(lax.mul)
def mul(op: Op, x: Box, y: Box) -> Box:
    corners = [op(a, b) for a in x for b in y]
    return Box(reduce(lax.min, corners), reduce(lax.max, corners))


class Enclose(Interpreter):
    """Payload: a Box (a pytree of arrays). A constant is a box of width zero."""

    table = rules

    def lift(self, value: Array) -> Box:
        return Box(value, value)

    def type_of(self, payload: Box) -> Any:
        return typeof(payload.lo)


def enclose(fn: Callable[..., Any]) -> Callable[..., Box]:
    """Return ``g`` where ``g(*boxes)`` contains ``fn(*xs)`` for every ``xs`` inside the boxes.

    ``fn`` takes arrays and returns one; each box is a pair ``(lo, hi)`` of arrays of one shape and dtype,
    and so is the result. Raises ``MissingRule`` for a primitive of which the table does not know how it
    bends a box.
    """

    def enclosed(*boxes: tuple[Any, Any]) -> Box:
        return run(Enclose(), fn, [Box(*box) for box in boxes])

    return enclosed
