"""Which arguments of a program nothing is made of, also not within the programs that it carries."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from rabbet.extend.passes import bodies_of, effects_of
from rabbet.extend.transform import feeds_of

if TYPE_CHECKING:
    from rabbet.extend.passes import Equation, Jaxpr


def without_readers(jaxpr: Jaxpr) -> dict[int, bool]:
    """From each input of a program that no result and no effect is made of, also not within calls, branches,
    loops and what else says by a rule ``feeds`` which operands its programs take, to whether an operation
    takes it.
    """
    read = inputs_read(jaxpr, range(len(jaxpr.outvars)))
    taken = {v for eqn in jaxpr.equations for v in eqn.inputs}
    return {i: v in taken for i, v in enumerate(jaxpr.invars) if i not in read}


def inputs_read(jaxpr: Jaxpr, results: Iterable[int]) -> set[int]:
    """The numbers of the inputs of which some of the results, or effects, are made."""
    live: set[Any] = {jaxpr.outvars[i] for i in results}
    for eqn in reversed(jaxpr.equations):
        wanted = {i for i, v in enumerate(eqn.outputs) if v in live}
        if wanted or effects_of(eqn.op):
            live.update(eqn.inputs[i] for i in operands_read(eqn, wanted))
    return {i for i, v in enumerate(jaxpr.invars) if v in live}


def operands_read(eqn: Equation, wanted: set[int]) -> Iterable[int]:
    """The same of the operands of an operation. What goes round in a loop and is wanted in some round counts
    as wanted from all.
    """
    operands = range(len(eqn.inputs))
    feeds = feeds_of(eqn.op)
    if feeds is None:
        return operands
    while True:
        read = set(operands).difference(*feeds.places.values())
        for name, body in bodies_of(eqn.op):
            results = range(len(body.outvars)) if name in feeds.decides else wanted
            read.update(feeds.places[name][i] for i in inputs_read(body, results))
        more = {i for i, place in feeds.rounds.items() if place in read}
        if more <= wanted:
            return read
        wanted = wanted | more


__all__ = ["without_readers"]
