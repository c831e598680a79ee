"""What a kernel's program does with a state, and what a block's place depends on."""

from dataclasses import dataclass
from typing import Any

from rabbet.extend.passes import Literal

from rabbet_pallas.reference_parts import Index


@dataclass(frozen=True)
class Use:
    """An operation on a state.

    Args:
      name: that of its primitive, "load" or "store".
      everything: whether it reads or writes the whole.
      guarded: whether it stands in a branch.
      where: the user's line, as equations have it.
    """

    name: str
    everything: bool
    guarded: bool
    where: Any


def uses_of(jaxpr, state, guarded=False):
    """Every operation on a state, in the program and in those within it; a list of ``Use``."""
    found, same = [], {state}
    for equation in jaxpr.equations:
        held = [i for i, v in enumerate(equation.inputs) if type(v) is not Literal and v in same]
        if not held:
            continue
        name, params = equation.op.primitive.name, equation.op.params
        inner = list(programs_of(equation))
        if inner:
            for program, first in inner:
                for i in held:
                    if 0 <= i - first < len(program.invars):
                        found += uses_of(program, program.invars[i - first], guarded or name == "cond")
            same.update(states_out(equation, held))
            continue
        place = params.get("place")
        found.append(
            Use(name, place is None or everything(place, state), guarded or masked(params), equation.where)
        )
        if equation.outputs and name not in ("load", "semaphore_read"):
            same.add(equation.outputs[0])
    return found


def masked(params):
    return bool(params.get("masked", False))


def everything(place, state):
    return all(isinstance(s, Index) and s.is_all_of(state.aval.shape) for s in place.steps)


def programs_of(equation):
    """Pairs of a program that an equation carries, and the number of the operand that is its first."""
    name, params = equation.op.primitive.name, equation.op.params
    if name == "cond":
        yield from [(b, 1) for b in params["branches"]]
    elif name == "scan":
        yield params["jaxpr"], 0
    elif name == "while":
        yield params["body_jaxpr"], params["cond_consts"]
    elif equation.op.primitive.is_call:
        yield params["jaxpr"], 0


def states_out(equation, held):
    """The results that are the states among the operands, after an equation that carries programs."""
    for program, first in programs_of(equation):
        for i in held:
            place = i - first
            if 0 <= place < len(program.invars):
                end = last_of(program, program.invars[place])
                for v, out in zip(program.outvars, equation.outputs, strict=False):
                    if v in end:
                        yield out


def last_of(jaxpr, state):
    """The variables of a program that are a state of its inputs."""
    same = {state}
    for equation in jaxpr.equations:
        held = [i for i, v in enumerate(equation.inputs) if type(v) is not Literal and v in same]
        if not held:
            continue
        if any(True for _ in programs_of(equation)):
            same.update(states_out(equation, held))
        elif equation.op.primitive.name not in ("load", "semaphore_read") and equation.outputs:
            same.add(equation.outputs[0])
    return same


def varies_with(index):
    """The numbers of the inputs that some output of a program depends on."""
    known = {v: frozenset([i]) for i, v in enumerate(index.invars)}
    of = lambda v: frozenset() if type(v) is Literal else known[v]
    for equation in index.equations:
        union = frozenset().union(*[of(v) for v in equation.inputs])
        known.update(dict.fromkeys(equation.outputs, union))
    return frozenset().union(*[of(v) for v in index.outvars])


__all__ = ["Use", "uses_of", "varies_with"]
