"""Loops that can be stopped from outside while they run.

A loop of which nobody knows that it ends goes on while its condition holds. In a program that can be stopped,
what the condition says is looked up in a table of two truth values, ``[false, true]``, a further argument of
the program: whoever writes ``[false, false]`` there has every such loop end after the turn that it is in. The
table is read in every turn, for the place that is read is not known before.

Such a program is a second text of the same module. The lines in which the two differ stand one after the
other and are told apart by marks where the others have their locations.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from rabbet.program.jaxpr import Literal, bodies_of

if TYPE_CHECKING:
    from rabbet.program.jaxpr import Jaxpr, Var

TABLE = "%stop"
TABLE_TYPE = "tensor<2xi1>"
ORDINARY, STOPPABLE = "\x01", "\x02"  # marks at the end of a location


def endless(jaxpr: Jaxpr) -> Iterator[Any]:
    """The operators of a program of which it is not known that they end."""
    for eqn in jaxpr.equations:
        is_endless = eqn.op.primitive.endless
        if is_endless is not None and is_endless(eqn.op):
            yield eqn.op
        for _, body in bodies_of(eqn.op):
            yield from endless(body)


def changes(condition: Jaxpr, body: Jaxpr, condition_consts: int, body_consts: int) -> bool:
    """Whether what a loop's condition says may be new in every turn, as far as the text shows: it depends on
    carried values that the body makes from such values. Otherwise the compiler reads the table once, in front
    of the loop.
    """
    inner = body.invars[body_consts:]
    sources = depends_on(body, inner)
    changing = {
        i: of
        for i, (out, x, of) in enumerate(zip(body.outvars, inner, sources, strict=False))
        if out is not x and type(out) is not Literal
    }
    while settled := [i for i, of in changing.items() if not any(of >> k & 1 for k in changing)]:
        for i in settled:
            del changing[i]
    test = depends_on(condition, condition.invars[condition_consts:])[0]
    return any(test >> i & 1 for i in changing)


def depends_on(jaxpr: Jaxpr, variables: list[Var]) -> list[int]:
    """For each output of a program, on which of these inputs it depends: bit ``i`` for ``variables[i]``."""
    known = {v: 1 << i for i, v in enumerate(variables)}
    for eqn in jaxpr.equations:
        found = 0
        for x in eqn.inputs:
            if type(x) is not Literal:
                found |= known.get(x, 0)
        if found:
            known.update(dict.fromkeys(eqn.outputs, found))
    return [0 if type(v) is Literal else known.get(v, 0) for v in jaxpr.outvars]


def looked_up(test: str, fresh: Callable[..., Any]) -> Any:
    """The lines that look a truth value up in the table, and the name of what they find."""
    index, found, scalar = fresh(), fresh(), fresh()
    types = f"({TABLE_TYPE}, tensor<i32>) -> tensor<1xi1>"
    lines = [
        f"{index} = stablehlo.convert {test} : (tensor<i1>) -> tensor<i32>",
        f"{found} = stablehlo.dynamic_slice {TABLE}, {index}, sizes = [1] : {types}",
        f"{scalar} = stablehlo.reshape {found} : (tensor<1xi1>) -> tensor<i1>",
    ]
    return [(line, STOPPABLE) for line in lines], scalar


def either(ordinary: str, stoppable: str, location: str = "") -> Any:
    """A line as it is in the one text, and in the other."""
    return [(ordinary, location + ORDINARY), (stoppable, location + STOPPABLE)]


def lines_of(lines: list[tuple[str, ...]], mark: str) -> list[tuple[str, ...]]:
    """The lines of the text for ``mark``, without marks."""
    other = ORDINARY if mark == STOPPABLE else STOPPABLE
    return [(text, location.removesuffix(mark)) for text, location in lines if not location.endswith(other)]
