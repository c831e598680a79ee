"""How long a step may take: each part of the program against the peaks of the hardware.

The model: an instruction takes as long as its arithmetic or as its traffic with the memory, whichever is more
(the roofline of Williams, Waterman and Patterson, 2009), at the speeds that measurements reached, or at the
peaks where none were found; a product of a GPU waits for its last part (``kernels``); a collective operation
as ``collective_times`` says; what goes to the host's memory and back as long as the bytes of the busier way
take. The step takes at least the longest of the three sums, where each hides behind the others, and at most
all of them, one after the other, if these speeds were reached all the time. They are not: real steps take
longer than ``least``, and often than ``most``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from rabbet_plan.arithmetic import flops, matrix_flops, products, traffic
from rabbet_plan.collective_times import Place, seconds_of, told
from rabbet_plan.collectives import Collective
from rabbet_plan.execution_counts import Step, inside
from rabbet_plan.hardware import Hardware
from rabbet_plan.hlo import Instruction, Module
from rabbet_plan.kernels import filled
from rabbet_plan.overlap import Overlap, overlap
from rabbet_plan.transfers import transfers


@dataclass(frozen=True)
class Estimate:
    """Seconds of one step.

    Attributes:
      arithmetic: of arithmetic alone.
      memory: of the traffic with the memory alone.
      compute: of all instructions, each the longer of its two.
      communication: of all collective operations, by the axes over which they go.
      host: of what goes between a device's memory and its host's.
      links: for each of these axes the links that they use, as a person reads them.
      source, measured: of the hardware's numbers, and what is known of the estimate's error.
    """

    arithmetic: float
    memory: float
    compute: float
    communication: dict[tuple[str, ...], float]
    source: str
    measured: str
    host: float = 0.0
    links: dict[tuple[str, ...], str] = field(default_factory=dict)

    @property
    def least(self) -> float:
        """Where all communication hides behind arithmetic."""
        return max(self.compute, sum(self.communication.values()), self.host)

    @property
    def most(self) -> float:
        """Where none does; of the link to the host the busier direction counts."""
        return self.compute + sum(self.communication.values()) + self.host


def estimate(
    steps: Sequence[Step], found: Sequence[Collective], hardware: Hardware, places: Sequence[Place]
) -> Estimate:
    """The ``Estimate`` of a program on some hardware; ``places`` by the number of the device."""
    hardware = hardware.sustained()
    arithmetic = memory = compute = 0.0
    for step in steps:
        busy, moved = durations(step.instruction, hardware)
        arithmetic += step.times * busy
        memory += step.times * moved
        compute += step.times * max(busy, moved)
    communication: dict[tuple[str, ...], float] = {}
    links: dict[tuple[str, ...], str] = {}
    for each in found:
        seconds = each.times * seconds_of(each, hardware, places)
        communication[each.axes] = communication.get(each.axes, 0.0) + seconds
        links[each.axes] = told(each, hardware, places)
    host = max(transfers(steps)) / hardware.host
    return Estimate(
        arithmetic, memory, compute, communication, source_of(hardware), hardware.measured, host, links
    )


def source_of(hardware: Hardware) -> str:
    """Where the speeds are from: the peaks, and what was reached of them."""
    return "; ".join([text for text in (hardware.source, hardware.reached.source) if text])


def durations(i: Instruction, hardware: Hardware) -> tuple[float, float]:
    """The seconds of an instruction's arithmetic, and of its traffic with the memory."""
    units = hardware.reached.units
    of_products = 0.0
    for one in inside(i):
        found = products(one)
        if found:
            of_products += found / hardware.speed(operand_type(one)) / filled(one, units)
    rest = flops(i) - matrix_flops(i)
    return of_products + rest / hardware.other, traffic(i) / hardware.bandwidth


def overlap_of(
    module: Module, found: Sequence[Collective], hardware: Hardware, places: Sequence[Place],
    place: Callable[[str], str] = str,
) -> Overlap:  # fmt: skip
    """What of a program's communication hides behind its arithmetic, in the compiler's order."""
    hardware = hardware.sustained()
    known = {each.name: (each, seconds_of(each, hardware, places)) for each in found}
    return overlap(module, lambda i: max(durations(i, hardware)), known, hardware.host, place)


def operand_type(i) -> str:
    """The type of the numbers that a product multiplies."""
    return i.operands[0].shape.dtype if i.operands else ""


__all__ = ["Estimate", "Place", "estimate", "overlap_of", "seconds_of"]
