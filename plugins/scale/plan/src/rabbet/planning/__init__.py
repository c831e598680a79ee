"""What a program would take of hardware that need not be here: memory, communication, time of a step.

``topology`` describes the hardware, ``plan`` compiles a function for it and tells what it found, ``sweep``
tries meshes and layouts.
"""

from rabbet_plan.hardware import Hardware, hardware_of
from rabbet_plan.cpu_speeds import measured_hardware
from rabbet_plan.planning import Plan, plan
from rabbet_plan.sweeping import sweep
from rabbet_plan.topologies import Topology, topology
from rabbet_plan.training import Training, bubbles_of, goodput_of, training_of

from rabbet.extend.functions import public_module as _public_module

__all__ = [
    "Hardware",
    "Plan",
    "Topology",
    "Training",
    "bubbles_of",
    "goodput_of",
    "hardware_of",
    "measured_hardware",
    "plan",
    "sweep",
    "topology",
    "training_of",
]

_public_module(globals())
