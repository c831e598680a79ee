"""For who writes kernels for some hardware: what a target is, and what it is given.

A package brings a ``Target`` by an entry point in ``rabbet.pallas_targets``.
"""

from rabbet_pallas.block_specs import (
    Blocked,
    BoundedSlice,
    Buffered,
    CostEstimate,
    Element,
    MemorySpace,
    Squeezed,
)
from rabbet_pallas.calls import Block, Call, Scratch
from rabbet_pallas.checking import revisited
from rabbet_pallas.lowering import shared_rules
from rabbet_pallas.lowering.kernel_function import Rules, Walker, is_state
from rabbet_pallas.lowering.state_uses import uses_of, varies_with
from rabbet_pallas.memory import atomic, compare_and_swap, load, store
from rabbet_pallas.reference_parts import At, Bitcast, Gather, Index, Place, Range, Reshape, Transpose
from rabbet_pallas.scopes import allocate
from rabbet_pallas.semaphores import copy_start, copy_wait
from rabbet_pallas.semaphores import semaphore_read_p as semaphore_read
from rabbet_pallas.semaphores import semaphore_signal_p as semaphore_signal
from rabbet_pallas.semaphores import semaphore_wait_p as semaphore_wait
from rabbet_pallas.small_functions import approx_tanh_p as approx_tanh
from rabbet_pallas.small_functions import multiple_of_p as multiple_of
from rabbet_pallas.small_functions import reciprocal_p as reciprocal
from rabbet_pallas.targets import Refused, Target
from rabbet_pallas.tpu_functions import bitcast_p as tpu_bitcast
from rabbet_pallas.tpu_functions import roll_p as roll
from rabbet_pallas.triton_functions import inline_asm

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
    "Rules",
    "Scratch",
    "Squeezed",
    "Target",
    "Transpose",
    "Walker",
    "allocate",
    "approx_tanh",
    "atomic",
    "compare_and_swap",
    "copy_start",
    "copy_wait",
    "inline_asm",
    "is_state",
    "load",
    "multiple_of",
    "reciprocal",
    "revisited",
    "roll",
    "semaphore_read",
    "semaphore_signal",
    "semaphore_wait",
    "shared_rules",
    "store",
    "tpu_bitcast",
    "uses_of",
    "varies_with",
]
public_module(globals())
