"""Small arrays that a function uses from outside, written into the program that is compiled: an argument of a
program costs a third of a microsecond, at a call of seven.

The program has to compute what it would compute with arguments. So an array stays one

- if it has NaNs or infinities: the compiler does not compute well with NaNs that it knows of;
- if an operation would take nothing but such arrays and numbers: the compiler would do it, with other last
  bits, and it could make a NaN. Operations that move elements, and those on integers, are done by anybody
  alike;
- if it is a divisor or an exponent, for which the compiler takes other operations where it knows them.

And so that a function which is made anew with other arrays again and again is not compiled as often, its
arrays are written for the first two of them, and are arguments from then on: those programs are one.
"""

from __future__ import annotations

import hashlib
import math
from collections import OrderedDict
from typing import TYPE_CHECKING, Any

import numpy as np
from rabbet import Array, config
from rabbet.extend import primitive as primitives
from rabbet.extend.functions import on_clear_caches
from rabbet.extend.passes import ClosedJaxpr, Equation, Jaxpr, Literal, bodies_of, effects_of
from rabbet.extend.transform import feeds_of

from rabbet_jit.scalar_constants import with_scalars_written

if TYPE_CHECKING:
    from collections.abc import Callable

    from rabbet.extend.primitive import ShapedArray

    from rabbet_jit.stages import Traced
    from rabbet_jit.tracing import Program

MOST_ARRAYS = 4
"""Of the size up to which they are written, in a program: 256 numbers take 5 kB of text."""
MOST_COMPUTED = 4096
"""Elements of what is made of them, where whoever compiles may do it."""
MOST_DIFFERENT = 2
"""Programs of one function that differ in such arrays alone."""
MOST_KNOWN = 4096

UNLIKE = primitives.div, primitives.rem, primitives.pow
"""Where the compiler knows the second operand, it takes others."""
MOVING = primitives.convert_element_type, primitives.stop_gradient

_known: OrderedDict[Any, list[bytes]] = OrderedDict()
on_clear_caches(_known.clear)


class Values:
    """The elements of an array, as a parameter of an operation."""

    __slots__ = ("array", "aval", "key")

    def __init__(self, array: np.ndarray, aval: ShapedArray) -> None:
        self.array, self.aval = array, aval
        self.key = aval, array.tobytes()

    def __hash__(self) -> int:
        return hash(self.key)

    def __eq__(self, other: object) -> bool:
        return type(other) is Values and self.key == other.key

    def __repr__(self) -> str:
        return f"<{self.aval.str_short()}>"


written_array = primitives.Primitive(
    "written_array",
    lambda *, values: values.aval,
    doc="an array of the host that stands in the program",
    parameters={"values": "Values: the elements and their type"},
)


@written_array.rule("lower")
def lower_written_array(op: Any) -> str:
    values = op["values"]
    return op.constant(values.array, values.aval)


def with_constants(program: Program, traced: Traced, platform: str) -> Program:
    """A program for one device, with the scalars and small arrays written into it that it has from outside
    and that need not be arguments.
    """
    closed = with_scalars_written(program.closed)
    return program._replace(closed=with_arrays_written(closed, traced.asked.fun, platform, hash(traced.key)))


def with_arrays_written(
    closed: ClosedJaxpr, fun: Callable[..., Any], platform: str, others: Any = ()
) -> ClosedJaxpr:
    """The program with small captured arrays written into it, where that changes nothing of what it computes.

    Args:
      closed: for one device.
      fun: the function that it was made of.
      platform: for which it is lowered. On other platforms than CPU nothing is written: to read an array
        would mean to wait for the device, and there the program runs while Python goes on.
      others: what else tells programs of the function apart.
    """
    if platform != "cpu":
        return closed
    found = fitting(closed)
    if not found:
        return closed
    variables = closed.jaxpr.constvars
    for i in computed_with(closed.jaxpr, {variables[i]: 1 << i for i in found}):
        found.pop(i, None)
    if not found or not is_among_the_first(closed, fun, found, others):
        return closed
    jaxpr = closed.jaxpr
    made = [Equation(written_array.op(values=x), [], [variables[i]]) for i, x in found.items()]
    kept = [i for i in range(len(variables)) if i not in found]
    program = Jaxpr(
        jaxpr.invars, jaxpr.outvars, [*made, *jaxpr.equations], [variables[i] for i in kept], jaxpr.effects,
        jaxpr.name,
    )  # fmt: skip
    return ClosedJaxpr(program, [closed.consts[i] for i in kept])


def fitting(closed: ClosedJaxpr) -> dict[int, Values]:
    """The captured arrays that are small, plain and finite, by their places."""
    found, most = {}, config.captured_constants_written_bytes
    left = MOST_ARRAYS * most
    for i, (v, x) in enumerate(zip(closed.jaxpr.constvars, closed.consts, strict=True)):
        size = math.prod(v.aval.shape) * v.aval.dtype.itemsize if is_plain(v.aval) and is_here(x) else 0
        if 0 < size <= min(left, most):
            array = np.asarray(x)
            if v.aval.kind in "biu" or np.isfinite(array).all():
                found[i] = Values(array, v.aval)
                left -= size
    return found


def is_plain(aval: ShapedArray) -> bool:
    """Whether it is the type of numbers as the compiler knows them, on no device or axis in particular."""
    return aval.kind in "biufc" and not aval.is_stored and aval.spread is None


def is_here(x: Any) -> bool:
    """Whether an array lies in the memory of the host, as a whole."""
    spec: Any = getattr(x, "spec", None)
    return type(x) is Array and spec.layout is None and spec.device.platform == "cpu"


def is_among_the_first(
    closed: ClosedJaxpr, fun: Callable[..., Any], found: dict[int, Values], others: Any
) -> bool:
    """Whether few programs of this function, of the same types, had other arrays."""
    jaxpr = closed.jaxpr
    types = tuple([v.aval for v in (*jaxpr.constvars, *jaxpr.invars)])
    key = *name_of(fun), jaxpr.name, types, len(jaxpr.equations), tuple(found), others
    digest = hashlib.blake2b(digest_size=16)
    for values in found.values():
        digest.update(values.key[1])
    seen = _known.setdefault(key, [])
    _known.move_to_end(key)
    if len(_known) > MOST_KNOWN:
        _known.popitem(last=False)
    if digest.digest() not in seen:
        if len(seen) >= MOST_DIFFERENT:
            return False
        seen.append(digest.digest())
    return True


def name_of(fun: Any) -> tuple[Any, ...]:
    """What a function is, whoever made it anew: its lines, of those within what was put around it."""
    for _ in range(8):
        inner = getattr(fun, "__wrapped__", None) or getattr(fun, "func", None)
        if inner is None:
            break
        fun = inner
    code = getattr(fun, "__code__", None)
    if code is None:
        return type(fun).__module__, type(fun).__qualname__
    return code.co_filename, code.co_firstlineno, code.co_name


def computed_with(jaxpr: Jaxpr, sources: dict[Any, int]) -> set[int]:
    """The places of captured arrays that have to be arguments, for what is computed with them.

    Args:
      sources: from the variable of each to ``1 << place``.
    """
    bad, _ = walk(jaxpr, sources)
    return {i for i in range(bad.bit_length()) if bad >> i & 1}


def walk(jaxpr: Jaxpr, known: dict[Any, int]) -> tuple[int, list[int | None]]:
    """Of which arrays something is computed that the compiler would compute, as bits; and of which each
    output is made if it is made of nothing else, or None.
    """
    known, bad = dict(known), 0
    for eqn in jaxpr.equations:
        inputs = [0 if type(v) is Literal else known.get(v) for v in eqn.inputs]
        if not any(inputs) and None in inputs:
            continue
        outputs: list[int | None] = [None] * len(eqn.outputs)
        if any(True for _ in bodies_of(eqn.op)):
            more, outputs = walk_within(eqn, inputs)
            bad |= more
        elif None not in inputs:
            made_of = 0
            for one in inputs:
                made_of |= one or 0
            if not may_be_computed(eqn):
                bad |= made_of
            if not made_of or may_be_computed(eqn):
                outputs = [made_of] * len(eqn.outputs)
        elif eqn.op.primitive in UNLIKE and eqn.outputs[0].aval.kind in "fc":
            bad |= inputs[1] or 0
        known.update({v: x for v, x in zip(eqn.outputs, outputs, strict=True) if x is not None})
    return bad, [0 if type(v) is Literal else known.get(v) for v in jaxpr.outvars]


def may_be_computed(eqn: Equation) -> bool:
    """Whether an operation gives the same bits, whoever does it, and not too many."""
    primitive = eqn.op.primitive
    if effects_of(eqn.op) or sum(math.prod(v.aval.shape) for v in eqn.outputs) > MOST_COMPUTED:
        return "structural" in primitive.kinds  # no compiler writes down what is repeated
    if "structural" in primitive.kinds or primitive in MOVING:
        return True
    return all(v.aval.kind in "biu" for v in (*eqn.inputs, *eqn.outputs))


def walk_within(eqn: Equation, inputs: list[int | None]) -> tuple[int, list[int | None]]:
    """``walk`` through the programs that an operation carries."""
    outputs: list[int | None] = [None] * len(eqn.outputs)
    bad = 0
    feeds = feeds_of(eqn.op)
    fed = set() if feeds is None else set().union(*feeds.places.values())
    for k, one in enumerate(inputs):
        if k not in fed:  # it decides what runs, or nobody knows what becomes of it
            bad |= one or 0
    if feeds is None:
        return bad, outputs
    for name, body in bodies_of(eqn.op):
        # What goes round in a loop counts as what it is at first: one of one turn is none for the compiler.
        given = {v: inputs[k] for v, k in zip(body.invars, feeds.places[name], strict=True)}
        more, results = walk(body, {v: x for v, x in given.items() if x is not None})
        bad |= more
        if name not in feeds.decides and len(results) == len(outputs) and not feeds.rounds:
            outputs = [x if y is None or x is None else x | y for x, y in zip(results, outputs, strict=True)]
    return bad, outputs


__all__ = ["with_arrays_written", "with_constants", "written_array"]
