"""What goes between a device's memory and its host's while a program runs.

Values in the host's memory are in XLA's memory space 5. A copy, slice or update that has it on one side and
not on the other goes over the link between the two.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from rabbet_plan.execution_counts import Step, inside
from rabbet_plan.hlo import Instruction

HOST = 5


class Transfers(NamedTuple):
    """Bytes of one device in a step. Attributes: ``to_host``, ``from_host``."""

    to_host: int
    from_host: int


def transfers(all_steps: Sequence[Step]) -> Transfers:
    """What a program moves between the memories, loops as often as they run."""
    there = back = 0
    for step in all_steps:
        for i in inside(step.instruction):
            to_host, from_host = of(i)
            there += step.times * to_host
            back += step.times * from_host
    return Transfers(there, back)


def of(i: Instruction) -> tuple[int, int]:
    """The bytes that an instruction moves to the host, and from it."""
    if not i.operands:
        return 0, 0
    source = i.operands[0].shape
    if i.opcode == "dynamic-update-slice":
        update = i.operands[1].shape
        return (update.plain_size, 0) if i.shape.space == HOST != update.space else (0, 0)
    if i.opcode in ("dynamic-slice", "slice"):
        return (0, i.shape.plain_size) if source.space == HOST != i.shape.space else (0, 0)
    if i.opcode in ("copy", "copy-start"):
        target = i.shape.arrays[0]
        if source.space == HOST != target.space:
            return 0, source.plain_size
        if target.space == HOST != source.space:
            return source.plain_size, 0
    return 0, 0


__all__ = ["Transfers", "transfers"]
