"""What to try first where time is short: the same program compiled for as many virtual CPU devices, which
takes a fraction of the time of a TPU's compiler, with the speeds and places of the hardware asked for.

What the CPU's compiler fuses, and the types in which it computes and sends, differ; so these figures order
trials and are told as rough, and a trial's own plan takes their place. The arguments' memory is exact: what
has no room for its arguments is not compiled at all.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from rabbet.errors import RabbetError

from rabbet_plan.hardware import hardware_of
from rabbet_plan.planning import planned
from rabbet_plan.programs import Program
from rabbet_plan.topologies import Topology, place_of, topology

MOST = 1024  # virtual devices that there can be
QUICKLY = {"xla_backend_optimization_level": 0, "xla_llvm_disable_expensive_passes": True}


class Promise(NamedTuple):
    """Rough ``seconds`` of a step; bytes of the ``arguments`` of a device, and how many it has."""

    seconds: float
    arguments: int
    capacity: int

    @property
    def problem(self) -> str:
        """Why it need not be compiled, or an empty text."""
        return "does not fit: its arguments alone" if self.arguments > self.capacity else ""


def twin_of(there: Topology) -> Topology | None:
    """As many virtual CPU devices; None of CPUs, of more than there can be, and of unknown speeds."""
    if there.platform == "cpu" or len(there) > MOST or hardware_of(there.local_name) is None:
        return None
    return topology(f"cpu:{len(there)}")


def promise_of(
    program: Program, there: Topology, twin: Topology, mesh: dict[str, int], layout: Any, options: dict
) -> Promise | None:
    """The ``Promise`` of a trial; None where the program cannot be compiled for CPUs."""
    hardware = hardware_of(there.local_name)
    try:
        step, args, kwargs = program.step(twin.mesh(mesh), layout, **options)
        places = [place_of(device) for device in there.devices]
        made = planned(step, args, kwargs, QUICKLY, hardware, places)
    except RabbetError:
        return None
    if hardware is None or made.estimate is None:
        return None
    return Promise(made.estimate.most, made.memory.arguments, hardware.memory)


__all__ = ["Promise", "promise_of", "twin_of"]
