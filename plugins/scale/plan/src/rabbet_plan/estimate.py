"""How long a step may take: each part of the program against the peaks of the hardware.

The model: an instruction takes as long as its arithmetic or as its traffic with the memory, whichever is more
(the roofline of Williams, Waterman and Patterson, 2009); a collective operation as long as the bytes that a
device sends in a ring take on the slowest link that it uses, and the latency of each hop. The step takes at
least the longer of the two sums, where communication hides behind arithmetic, and at most both, one after the
other, if the peaks were reached. They are not: real steps take longer than ``least``, and often than
``most``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rabbet_plan.arithmetic import flops, matrix_flops, products, traffic
from rabbet_plan.collectives import Collective
from rabbet_plan.hardware import Hardware
from rabbet_plan.walking import Step, inside


@dataclass(frozen=True)
class Place:
    """Where a device stands: the number of its host and of its slice, and its coordinates, if it has any."""

    host: int
    slice: int
    coordinates: tuple[int, ...] | None


@dataclass(frozen=True)
class Estimate:
    """Seconds of one step.

    Attributes:
      arithmetic: at the peak of arithmetic alone.
      memory: at the memory's peak bandwidth alone.
      compute: of all instructions, each the longer of its two.
      communication: of all collective operations, by the axes over which they go.
      source, measured: of the hardware's numbers, and what is known of the estimate's error.
    """

    arithmetic: float
    memory: float
    compute: float
    communication: dict[tuple[str, ...], float]
    source: str
    measured: str

    @property
    def least(self) -> float:
        """Where all communication hides behind arithmetic."""
        return max(self.compute, sum(self.communication.values()))

    @property
    def most(self) -> float:
        """Where none does."""
        return self.compute + sum(self.communication.values())


def estimate(
    steps: Sequence[Step], found: Sequence[Collective], hardware: Hardware, places: Sequence[Place]
) -> Estimate:
    """The ``Estimate`` of a program on some hardware; ``places`` by the number of the device."""
    arithmetic = memory = compute = 0.0
    for step in steps:
        of_products = sum([products(i) / hardware.speed(operand_type(i)) for i in inside(step.instruction)])
        rest = flops(step.instruction) - matrix_flops(step.instruction)
        busy = of_products + rest / hardware.other
        moved = traffic(step.instruction) / hardware.bandwidth
        arithmetic += step.times * busy
        memory += step.times * moved
        compute += step.times * max(busy, moved)
    communication: dict[tuple[str, ...], float] = {}
    for each in found:
        seconds = each.times * seconds_of(each, hardware, places)
        communication[each.axes] = communication.get(each.axes, 0.0) + seconds
    return Estimate(arithmetic, memory, compute, communication, hardware.source, hardware.measured)


def operand_type(i) -> str:
    """The type of the numbers that a product multiplies."""
    return i.operands[0].shape.dtype if i.operands else ""


def seconds_of(each: Collective, hardware: Hardware, places: Sequence[Place]) -> float:
    """How long one round of a collective operation takes."""
    crosses = max([crossing(group, places) for group in each.groups], key=lambda c: c != "within")
    hops = (
        1 if each.kind == "collective-permute" else (each.size - 1) * (2 if each.kind == "all-reduce" else 1)
    )
    if crosses == "network":
        return each.sent / hardware.network + hops * hardware.network_latency
    directions = max([dimensions(group, places) for group in each.groups])
    ways = 1 if each.kind == "collective-permute" else hardware.links * max(1, directions)
    return each.sent / (hardware.link * ways) + hops * hardware.latency


def crossing(group: Sequence[int], places: Sequence[Place]) -> str:
    """``"within"``, or ``"network"`` where a group extends over slices, or over hosts that only the network
    connects: chips with coordinates are connected throughout their slice.
    """
    members = [places[n] for n in group]
    if len({p.slice for p in members}) > 1:
        return "network"
    if any(p.coordinates is None for p in members) and len({p.host for p in members}) > 1:
        return "network"
    return "within"


def dimensions(group: Sequence[int], places: Sequence[Place]) -> int:
    """Along how many directions of the chips' grid a group extends."""
    at = [places[n].coordinates for n in group]
    if any(c is None for c in at):
        return 1
    return sum([len(set(along)) > 1 for along in zip(*at, strict=True)])  # type: ignore[misc]


__all__ = ["Estimate", "Place", "estimate"]
