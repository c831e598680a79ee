"""For who writes kernels for some hardware: what a target is, and what it is given.

A package brings a ``Target`` by an entry point in ``rabbet.pallas_targets``.
"""

from rabbet_pallas.calls import Block, Call, Scratch
from rabbet_pallas.memory import atomic, compare_and_swap, load, store
from rabbet_pallas.places import At, Bitcast, Gather, Index, Place, Range, Reshape, Transpose
from rabbet_pallas.specs import (
    Blocked,
    BoundedSlice,
    Buffered,
    CostEstimate,
    Element,
    MemorySpace,
    Squeezed,
)
from rabbet_pallas.targets import Refused, Target

from rabbet.extend.functions import public_module

__all__ = [
    "At",
    "Bitcast",
    "Block",
    "Blocked",
    "BoundedSlice",
    "Buffered",
    "Call",
    "CostEstimate",
    "Element",
    "Gather",
    "Index",
    "MemorySpace",
    "Place",
    "Range",
    "Refused",
    "Reshape",
    "Scratch",
    "Squeezed",
    "Target",
    "Transpose",
    "atomic",
    "compare_and_swap",
    "load",
    "store",
]
public_module(globals())
