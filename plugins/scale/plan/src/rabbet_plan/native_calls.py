"""Calls of native functions in a compiled program: compilers know nothing of them, the rules ``cost`` of
their primitives do.

A rule speaks of types. In a program that is cut up each device calls the function with its parts, so a call
is matched with the operation that it came from by the function's name and by its types, which divide those of
the operation, and the rule is asked of the parts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from rabbet.extend.backend import lower_program
from rabbet.extend.cost import Cost, cost_of
from rabbet.extend.passes import Jaxpr, bodies_of, stage
from rabbet.extend.primitive import ShapedArray

from rabbet_plan.execution_counts import Step
from rabbet_plan.hlo import Instruction, Module

CALL = re.compile(r'custom_call @(?:"([^"]+)"|([^"(\s]+))\(')
RULES = frozenset(("cost", "partition"))
# What stands in a program's text for the compiler alone.
MARKS = ("Sharding", "rabbet_partitioned", "annotate_device_placement", "LayoutConstraint")


@dataclass(frozen=True)
class NativeCall:
    """Calls of one native function in a step of one device.

    Attributes: ``target``, its name; ``count``, how often it is called; ``flops`` (functions such as ``exp``
    count as one) and ``bytes``, in a step, by the rule ``cost`` of the primitive; None where it has none.
    """

    target: str
    count: int
    flops: float | None
    bytes: float | None


def tell_costs(program: Jaxpr, module: Module, text: str, platform: str) -> frozenset[str]:
    """Note on each native call of a compiled program what the rule of its primitive says (``told``); return
    the names of all functions that the program's text calls.
    """
    by_target: dict[str, list[Any]] = {}
    for eqn in equations_with_rules(program):
        alone = Jaxpr([v for v in dict.fromkeys(eqn.inputs) if not hasattr(v, "value")], eqn.outputs, [eqn])
        for target in targets(lower_program(alone, platform, keep_unused=True).module.text):
            by_target.setdefault(target, []).append(eqn)
    for i in module.instructions.values():
        if i.opcode == "custom-call":
            found = [cost for eqn in by_target.get(i.target, ()) if (cost := cost_there(eqn, i)) is not None]
            i.told = found[0] if found else None
    return targets(text) | frozenset(by_target)


def targets(text: str) -> frozenset[str]:
    """The native functions that a program's text calls."""
    return frozenset(["".join(found) for found in CALL.findall(text)]).difference(MARKS)


def equations_with_rules(program: Jaxpr) -> Iterator[Any]:
    """The operations whose primitive says what they cost or how they are cut up, those of bodies too. What
    the parts of one that is cut up call does not stand in the program's text.
    """
    for eqn in program.equations:
        if not RULES.isdisjoint(eqn.primitive.rules):
            yield eqn
        for _, body in bodies_of(eqn.op):
            yield from equations_with_rules(body)


def cost_there(eqn: Any, i: Instruction) -> Cost | None:
    """What an operation costs with the operands that a call of the compiled program has; None where the call
    is another operation's.
    """
    if "cost" not in eqn.primitive.rules:
        return None
    whole = [v.aval for v in eqn.inputs]
    parts = [o.shape for o in i.operands]
    if len(parts) != len(whole) or not all(map(is_part, parts, whole)):
        return None
    types = [ShapedArray(p.dimensions, w.dtype) for p, w in zip(parts, whole, strict=True)]
    made = stage(lambda *xs: results(eqn, xs), types).jaxpr
    return cost_of(made, own_only=True)


def is_part(part: Any, whole: Any) -> bool:
    """Whether an array of the compiled program may be a part of one of the program's."""
    return len(part.dimensions) == len(whole.shape) and all(
        n and size % n == 0 for n, size in zip(part.dimensions, whole.shape, strict=True)
    )


def results(eqn: Any, xs: Any) -> list[Any]:
    """The results of an operation, at other sizes."""
    out = eqn.primitive(*xs, **eqn.params)
    return list(out) if eqn.primitive.multiple_results else [out]


def native_calls(all_steps: list[Step], known: frozenset[str]) -> tuple[NativeCall, ...]:
    """The native calls of a step, summed by function."""
    rows: dict[str, list[Any]] = {}
    for step in all_steps:
        i = step.instruction
        if i.opcode != "custom-call" or i.target not in known:
            continue
        row = rows.setdefault(i.target, [0, 0.0, 0.0, True])
        row[0] += step.times
        row[3] = row[3] and i.told is not None
        if i.told is not None:
            row[1] += step.times * (i.told.flops + i.told.transcendentals)
            row[2] += step.times * i.told.bytes
    return tuple(
        [
            NativeCall(target, count, flops if told else None, moved if told else None)
            for target, (count, flops, moved, told) in rows.items()
        ]
    )


__all__ = ["NativeCall", "native_calls", "targets", "tell_costs"]
