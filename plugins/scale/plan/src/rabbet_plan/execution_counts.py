"""What a program runs, and how often: through loops, calls and branches."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from rabbet_plan.hlo import Computation, Instruction, Module

CALLS = ("call", "async-start", "async-update")


class Step(NamedTuple):
    """An instruction that runs by itself, how often, and whether that is known."""

    instruction: Instruction
    times: int
    known: bool


def steps(module: Module) -> list[Step]:
    """All that runs, in order, loops once with their number of rounds. Of a branch the one with the largest
    results is taken.
    """
    return list(_steps(module.entry, 1, True))


def _steps(computation: Computation, times: int, known: bool) -> Iterator[Step]:
    for i in computation.instructions:
        if i.opcode == "while":
            rounds = trip_count(i)
            inner = times * (1 if rounds is None else rounds)
            yield Step(i, times, known)
            for called in i.called:
                yield from _steps(called, inner, known and rounds is not None)
        elif i.opcode == "conditional" and i.called:
            heaviest = max(i.called, key=lambda c: sum([j.shape.size for j in c.instructions]))
            yield Step(i, times, known)
            yield from _steps(heaviest, times, known)
        elif i.opcode in CALLS and i.called:
            yield from _steps(i.called[0], times, known)
        else:
            yield Step(i, times, known)


def inside(instruction: Instruction) -> Iterator[Instruction]:
    """The instructions that a fusion is made of, those of fusions within it too; else the instruction."""
    if instruction.opcode != "fusion":
        yield instruction
        return
    for called in instruction.called:
        for each in called.instructions:
            yield from inside(each)


def trip_count(loop: Instruction) -> int | None:
    """How often a loop runs: as the compiler says, or where it counts from a constant up to a constant; None
    where neither is so.
    """
    said = loop.config.get("known_trip_count")
    if isinstance(said, dict) and str(said.get("n", "")).isdigit():
        return int(said["n"])
    condition = next((c for c in loop.called if c.root.shape.dtype == "pred"), None)
    if condition is None:
        return None
    found = [each for i in condition.instructions for each in inside(i)]
    compared = [i for i in found if i.opcode == "compare"]
    limits = [i.scalar for i in found if i.scalar is not None]
    if len(compared) != 1 or len(limits) != 1 or compared[0].direction not in ("LT", "GT", "LE", "GE"):
        return None
    start = first_value(loop, condition)
    if start is None:
        return None
    more = compared[0].direction in ("LE", "GE")
    return max(0, limits[0] - start + more) if start <= limits[0] else max(0, start - limits[0] + more)


def first_value(loop: Instruction, condition: Computation) -> int | None:
    """What a loop's counter starts with: the only whole number without dimensions that its condition
    reads.
    """
    read = [
        i for i in condition.instructions
        if i.opcode == "get-tuple-element" and not i.shape.dimensions and i.shape.dtype[0] in "su"
    ]  # fmt: skip
    if len(read) != 1 or not loop.operands:
        return None
    given: Instruction | None = loop.operands[0]
    if given is not None and given.opcode == "tuple":
        given = given.operands[read[0].tuple_index]
    return constant_behind(given)


def constant_behind(value: Instruction | None) -> int | None:
    """The constant that a value is a copy of."""
    while value is not None and value.scalar is None and value.opcode in ("copy", "bitcast", "convert"):
        value = value.operands[0] if value.operands else None
    return None if value is None else value.scalar


def total(all_steps: list[Step], measure: Callable[[Instruction], float]) -> float:
    """The sum of a measure over all that runs."""
    return sum([step.times * measure(step.instruction) for step in all_steps])


__all__ = ["Step", "inside", "steps", "total", "trip_count"]
