"""Payloads taken apart: leaves, which go into programs, and static parts, which say how leaves make payloads.

A value the interpreter never touched is *plain*: it is its own single leaf, and ``PLAIN`` is its static part.
Where static parts differ, between two branches or before and after a step of a loop, they are joined: the
least part that covers both.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from rabbet import tree
from rabbet.trace.tracer import Tracer

if TYPE_CHECKING:
    from rabbet.trace.interpreter import Interpreter
    from rabbet.typing import Value


class Plain:
    """The static part of a value that the interpreter has not touched; the bottom of every join.

    Example:
      >>> from rabbet.extend.bodies import PLAIN, take_apart
      >>> from rabbet.extend.transform import Interpreter
      >>> take_apart(Interpreter(), [1.0])[1] == (PLAIN,)
      True
    """

    def __repr__(self) -> str:
        return "PLAIN"


PLAIN = Plain()


class Threaded(NamedTuple):
    """The static part of the state of an interpreter that ``threads`` one."""

    treedef: Any


class State:
    """Stands among values for the state of their interpreter.

    Example:
      >>> from rabbet.extend.bodies import STATE, take_apart
      >>> from rabbet.extend.transform import Interpreter
      >>> counting = Interpreter()
      >>> counting.state = {"steps": 0}
      >>> leaves, structures = take_apart(counting, [1.0, STATE])
      >>> leaves
      [1.0, 0]
    """

    def __repr__(self) -> str:
        return "STATE"


STATE = State()


def is_tracer_of(x: Value, interpreter: Interpreter) -> bool:
    """Whether ``x`` is a tracer of ``interpreter``.

    Example:
      >>> from rabbet.extend.bodies import is_tracer_of
      >>> from rabbet.extend.transform import Interpreter
      >>> is_tracer_of(1.0, Interpreter())
      False
    """
    return type(x) is Tracer and x.interpreter is interpreter


def take_apart(interpreter: Interpreter, values: list[State | Value] | tuple[Value, ...]) -> Any:
    """Flatten operands: a tracer of ``interpreter`` to its payload's leaves, any other value to itself.

    Returns:
      (leaves, structures): one structure per value, ``PLAIN`` or the payload's treedef.

    Example:
      >>> from rabbet.extend.bodies import PLAIN, take_apart
      >>> from rabbet.extend.transform import Interpreter
      >>> leaves, structures = take_apart(Interpreter(), [1.0, 2.0])
      >>> leaves, structures == (PLAIN, PLAIN)
      ([1.0, 2.0], True)
    """
    leaves, structures = [], []
    for x in values:
        if type(x) is Tracer and x.interpreter is interpreter:
            parts, treedef = tree.flatten(x.payload)
            leaves += parts
            structures.append(treedef)
        elif x is STATE:
            parts, treedef = tree.flatten(interpreter.state)
            leaves += parts
            structures.append(Threaded(treedef))
        else:
            leaves.append(x)
            structures.append(PLAIN)
    return leaves, tuple(structures)


def put_together(interpreter: Interpreter, structures: Any, leaves: Any) -> Any:
    """The inverse of ``take_apart``: tracers (by the interpreter's ``wrap``) and plain values. A state is
    given to the interpreter and is not among the values.

    Example:
      >>> from rabbet.extend.bodies import put_together, take_apart
      >>> from rabbet.extend.transform import Interpreter
      >>> interpreter = Interpreter()
      >>> leaves, structures = take_apart(interpreter, [1.0, 2.0])
      >>> put_together(interpreter, structures, leaves)
      [1.0, 2.0]
    """
    values, at = [], 0
    state = threaded(structures, leaves) if interpreter.threads else None
    if state is not None:  # the interpreter's `wrap` may look at it, and what stood there is of outside
        interpreter.state = state
    for structure in structures:
        if structure is PLAIN:
            values.append(leaves[at])
            at += 1
        elif type(structure) is Threaded:
            at += structure.treedef.num_leaves
        else:
            n = structure.num_leaves
            values.append(interpreter.wrap(tree.unflatten(structure, leaves[at : at + n])))
            at += n
    if state is not None:
        interpreter.state = state  # what goes in or out is not a result of an operation, and leaves nothing
    return values


def threaded(structures: tuple[Any, ...], leaves: list[Value] | tuple[Value, ...]) -> Any:
    """The state among operands, or None."""
    at = 0
    for structure in structures:
        if type(structure) is Threaded:
            return tree.unflatten(structure.treedef, leaves[at : at + structure.treedef.num_leaves])
        at += 1 if structure is PLAIN else structure.num_leaves
    return None


def count_leaves(structures: tuple[Any, ...]) -> int:
    """How many leaves payloads of these static parts have.

    Example:
      >>> from rabbet.extend.bodies import PLAIN, count_leaves
      >>> count_leaves((PLAIN, rb.tree.structure((1.0, 2.0))))
      3
    """
    return sum(1 if s is PLAIN else s.num_leaves for s in structures)


class Hole:
    """Stands for a leaf where only a payload's static part is looked at.

    Example:
      >>> from rabbet.extend.bodies import HOLE
      >>> rb.tree.leaves((HOLE, HOLE)) == [HOLE, HOLE]
      True
    """

    def __repr__(self) -> str:
        return "*"


HOLE = Hole()


def skeleton(structure: Any) -> Any:
    """A payload with ``HOLE`` for each leaf."""
    return tree.unflatten(structure, [HOLE] * structure.num_leaves)


def join(interpreter: Interpreter, a: Any, b: Any) -> Any:
    """The least static part that covers two; ``PLAIN`` is below all others."""
    if a is PLAIN or a == b:
        return b
    if b is PLAIN:
        return a
    if type(a) is Threaded:
        joined = interpreter.join_state(skeleton(a.treedef), skeleton(b.treedef))
        return Threaded(tree.structure(joined))
    return tree.structure(interpreter.join(skeleton(a), skeleton(b)))


def join_structures(interpreter: Interpreter, first: Any, second: tuple[Any, ...]) -> tuple[Any, ...]:
    """``join`` for each pair of two tuples of static parts.

    Example:
      >>> from rabbet.extend.bodies import PLAIN, join_structures
      >>> from rabbet.extend.transform import Interpreter
      >>> pair = rb.tree.structure((1.0, 2.0))
      >>> join_structures(Interpreter(), (PLAIN, PLAIN), (PLAIN, pair)) == (PLAIN, pair)
      True
    """
    return tuple([join(interpreter, a, b) for a, b in zip(first, second, strict=True)])


def force_payload(interpreter: Interpreter, x: Any, structure: Any) -> Any:
    """The leaves of a value (a tracer of ``interpreter``, alive or finished, or a plain value) brought to a
    static part.

    Example:
      >>> from rabbet.extend.bodies import force_payload
      >>> from rabbet.extend.transform import Interpreter
      >>> class Pairs(Interpreter):
      ...     def lift(self, value):
      ...         return value, 0.0
      ...     def type_of(self, pair):
      ...         return rb.typeof(pair[0])
      >>> force_payload(Pairs(), 3.0, rb.tree.structure((1.0, 2.0)))
      [3.0, 0.0]
    """
    if x is STATE:
        return forced_state(interpreter, structure.treedef)
    mine = type(x) is Tracer and x.interpreter is interpreter
    if structure is PLAIN:
        if mine:
            raise TypeError(
                f"{interpreter.describe()}: a value that must stay plain depends on a transformed one"
            )
        return [x]
    payload = x.payload if mine else interpreter.lift(x)
    leaves, have = tree.flatten(payload)
    if have == structure:
        return leaves
    leaves, have = tree.flatten(interpreter.force(payload, skeleton(structure)))
    if have != structure:
        raise TypeError(
            f"{interpreter.describe()}: force gave the static part {have}, {structure} was asked for"
        )
    return leaves


def forced_state(interpreter: Interpreter, structure: Any) -> list[Value]:
    """The leaves of the interpreter's state brought to a static part."""
    leaves, have = tree.flatten(interpreter.state)
    if have == structure:
        return leaves
    leaves, have = tree.flatten(interpreter.force_state(interpreter.state, skeleton(structure)))
    if have != structure:
        raise TypeError(
            f"{interpreter.describe()}: force_state gave the static part {have}, {structure} was asked for"
        )
    return leaves
