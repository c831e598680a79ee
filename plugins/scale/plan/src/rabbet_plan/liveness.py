"""Which values of a program exist at the same time, from the order in which its instructions run.

For compilers that do not tell where they put buffers. A value lives from the instruction that makes it
to the last one that reads it; what is a name for another value (``get-tuple-element``, ``bitcast``), a loop's
state, and an array that is updated in place take no memory of their own.
"""

from __future__ import annotations

from typing import NamedTuple

from rabbet_plan.hlo import Computation, Instruction, Module, Shape

SAME = frozenset(
    """
    bitcast optimization-barrier add-dependency copy-done all-gather-done all-reduce-done
    collective-permute-done async-done
    """.split()
)
WITHIN = ("while", "call", "conditional")


class Value:
    """An array in memory. Attributes: ``instruction``, which makes it, and ``shape``."""

    __slots__ = ("instruction", "last", "made", "shape")

    def __init__(self, instruction: Instruction, shape: Shape, made: int):
        self.instruction, self.shape, self.made, self.last = instruction, shape, made, made


class Live(NamedTuple):
    """Values that exist at one time, and those of a program's results among them."""

    values: list[Value]
    outputs: list[Value]


def at_peak(module: Module) -> tuple[int, Live]:
    """The most bytes that values take at one time, and those values."""
    return _peak(module.entry, owns=True)


def _peak(computation: Computation, owns: bool) -> tuple[int, Live]:
    values: list[Value] = []
    leaves: dict[int, list[Value | None]] = {}
    inner: dict[int, tuple[int, Live]] = {}
    order = computation.instructions
    for at, i in enumerate(order):
        for operand in i.operands:
            for value in leaves.get(operand.id, []):
                if value is not None:
                    value.last = at
        leaves[i.id] = made = _leaves(i, at, leaves, owns)
        values += [v for v in made if v is not None and v.instruction is i]
        if i.opcode in WITHIN and i.called:
            inner[at] = max([_peak(c, owns=False) for c in i.called], key=lambda found: found[0])
    outputs = [v for v in leaves.get(computation.root.id, []) if v is not None]
    for value in outputs:
        value.last = len(order)
    if owns:  # the caller keeps the arguments
        for value in values:
            if value.instruction.opcode == "parameter":
                value.made, value.last = 0, len(order)
    return _most(values, outputs, inner, len(order))


def _most(values, outputs, inner, length) -> tuple[int, Live]:
    change = [0] * (length + 2)
    for value in values:
        change[value.made] += value.shape.size
        change[value.last + 1] -= value.shape.size
    now, best, where = 0, -1, 0
    for at in range(length):
        now += change[at]
        here = now + (inner[at][0] if at in inner else 0)
        if here > best:
            best, where = here, at
    live = [v for v in values if v.made <= where <= v.last]
    if where in inner:
        live += inner[where][1].values
    return max(best, 0), Live(live, outputs)


def _leaves(i: Instruction, at: int, leaves, owns: bool) -> list[Value | None]:
    """The arrays that an instruction's result consists of; None for one that has no memory of its own
    here.
    """
    given = [leaves.get(o.id, []) for o in i.operands]
    if i.opcode == "tuple":
        return [leaf for one in given for leaf in one]
    if i.opcode == "get-tuple-element" and given:
        parts = i.operands[0].shape.parts
        before = sum([len(p.arrays) for p in parts[: i.tuple_index]])
        return given[0][before : before + len(i.shape.arrays)]
    if i.opcode == "while" and given:
        return given[0]
    if i.opcode in SAME and given and len(given[0]) >= len(i.shape.arrays):
        return given[0][-len(i.shape.arrays) :]
    if i.opcode == "parameter" and not owns:
        return [None] * len(i.shape.arrays)
    updated = _updated_in_place(i)
    if updated is not None and len(leaves.get(updated.id, [])) == 1:
        return leaves[updated.id]
    made: list[Value | None] = []
    for shape in i.shape.arrays:
        made.append(Value(i, shape, at) if shape.space == 0 and shape.size else None)
    return made


def _updated_in_place(i: Instruction) -> Instruction | None:
    """The operand in whose place an update of a part of it is written."""
    if i.opcode == "dynamic-update-slice":
        return i.operands[0]
    if i.opcode == "fusion" and i.called and i.shape.dtype != "tuple":
        root = i.called[0].root
        while root.opcode == "bitcast" and root.operands:
            root = root.operands[0]
        if root.opcode == "dynamic-update-slice":
            target = root.operands[0]
            while target.opcode == "bitcast" and target.operands:
                target = target.operands[0]
            if target.opcode == "parameter":
                return i.operands[target.parameter_number]
    return None


__all__ = ["Live", "Value", "at_peak"]
