"""What a program would take of hardware that need not be here: memory, communication, time of a step.

``topology`` describes the hardware, ``plan`` compiles a function for it and tells what it found.
"""

from rabbet_plan.collectives import Collective
from rabbet_plan.estimate import Estimate
from rabbet_plan.hardware import Hardware, hardware_of
from rabbet_plan.memory import Memory
from rabbet_plan.planning import Exchange, Holding, Plan, plan
from rabbet_plan.topologies import Topology, topology

from rabbet.extend.functions import public_module as _public_module

__all__ = [
    "Collective",
    "Estimate",
    "Exchange",
    "Hardware",
    "Holding",
    "Memory",
    "Plan",
    "Topology",
    "hardware_of",
    "plan",
    "topology",
]

_public_module(globals())
