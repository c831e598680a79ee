"""What devices send each other: the collective operations of a compiled program."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from rabbet_plan.execution_counts import Step, inside
from rabbet_plan.groups import axes_of, axes_of_pairs, groups_of, pairs_of
from rabbet_plan.hlo import Instruction

KINDS = (
    "all-reduce", "all-gather", "reduce-scatter", "all-to-all", "ragged-all-to-all", "collective-permute",
    "collective-broadcast",
)  # fmt: skip


class Collective(NamedTuple):
    """One collective operation.

    Attributes:
      kind: ``"all-reduce"``, ``"all-gather"``, ``"reduce-scatter"``, ``"all-to-all"``,
        ``"collective-permute"``, ...
      axes: the axes of the mesh over which it goes.
      groups: the numbers of the devices that take part together; of a permutation, source and target.
      size: how many devices are in a group.
      bytes: what one device puts in, or, if that is more, gets out, in one round.
      sent: what one device sends in one round by the usual ring (see ``sent_by_ring``).
      times: how often it runs in a step.
      known: whether that is known.
      dtypes: of what is sent.
      name, op_name: what the compiler and the program call it.
    """

    kind: str
    axes: tuple[str, ...]
    groups: tuple[tuple[int, ...], ...]
    size: int
    bytes: int
    sent: float
    times: int
    known: bool
    dtypes: tuple[str, ...]
    name: str
    op_name: str


def collectives(steps: list[Step], mesh: Mapping[str, int], devices: int) -> list[Collective]:
    """The collective operations of a program, in its order."""
    found, begun = [], set()
    for step in steps:
        for i in inside(step.instruction):
            kind = i.opcode.removesuffix("-start")
            if kind not in KINDS or repeated(i, begun):
                continue
            found.append(described(i, kind, step, mesh, devices))
    return [each for each in found if each is not None]


def repeated(i: Instruction, begun: set) -> bool:
    """Whether it is a further part of an operation that was counted: TPU's compiler spreads one over several
    fusions, in which it stands again under the same channel.
    """
    if "async_collective_fusion_config" not in i.config:
        return False
    if i.channel in begun:
        return True
    begun.add(i.channel)
    return False


def described(i: Instruction, kind: str, step: Step, mesh, devices) -> Collective | None:
    """A collective operation of groups of more than one device; None for others, which send nothing."""
    put = sum([o.shape.plain_size for o in i.operands])
    arrays = [a for o in i.operands for a in o.shape.arrays]
    if kind == "collective-permute":
        pairs = pairs_of(i)
        groups = [(s, t) for s, t in pairs if s != t]
        axes = axes_of_pairs(pairs, mesh)
        size, got = 2, put
    else:
        groups = [tuple(g) for g in groups_of(i, devices)]
        axes = axes_of(groups, mesh)
        size = max(map(len, groups), default=1)
        if kind == "all-reduce" and scattered(step.instruction):
            kind = "reduce-scatter"  # TPU's compiler writes it as a fusion of the two
        got = {"all-gather": put * size, "reduce-scatter": put // size}.get(kind, put)
    if not groups or size < 2:
        return None
    return Collective(
        kind, axes, tuple(groups), size, max(put, got), sent_by_ring(kind, size, put), step.times, step.known,
        tuple(dict.fromkeys([a.dtype for a in arrays])), i.name, called(step.instruction, i),
    )  # fmt: skip


def called(runs: Instruction, i: Instruction) -> str:
    """What the program calls an operation; of one that the partitioner added without a name, what it calls
    the operation that reads it, or that it reads.
    """
    near = [*readers(runs), *[o for one in runs.operands for o in (one, *one.operands)]]
    return next((each.op_name for each in (runs, i, *near) if each.op_name), "")


def readers(i: Instruction) -> list[Instruction]:
    """The instructions that read a result, and those that read theirs."""
    return [r for first in i.users for r in (first, *first.users)]


def scattered(fusion: Instruction) -> bool:
    """Whether a fusion of an all-reduce keeps just this device's part."""
    return (
        fusion.opcode == "fusion"
        and fusion.called[0].root.opcode in ("dynamic-slice", "bitcast")
        and any(i.opcode == "dynamic-slice" for i in fusion.called[0].instructions)
    )


def sent_by_ring(kind: str, size: int, put: int) -> float:
    """How many bytes one device sends, with the algorithm that sends least, a ring.

    Args:
      kind: the operation.
      size: how many devices are in a group.
      put: the bytes that one device puts in.

    A sum of n devices is sent twice around, cut into n parts (Patarasuk and Yuan 2009, "Bandwidth optimal
    all-reduce algorithms for clusters of workstations"); a gather sends each part n - 1 times.
    """
    if kind == "all-reduce":
        return 2 * put * (size - 1) / size
    if kind == "all-gather":
        return put * (size - 1)
    if kind in ("reduce-scatter", "all-to-all", "ragged-all-to-all"):
        return put * (size - 1) / size
    return float(put)


__all__ = ["Collective", "collectives", "sent_by_ring"]
