"""Kernels: functions of references to blocks of arrays, run for each program of a grid.

The names and their meaning are those of ``jax.experimental.pallas``. On the CPU kernels are compiled as
ordinary programs. Packages, such as ``rabbet-pallas-triton`` and ``rabbet-pallas-tpu``, write them for
hardware.
"""

from rabbet_pallas.api import pallas_call
from rabbet_pallas.control import loop, when
from rabbet_pallas.program_ids import num_programs, program_id
from rabbet_pallas.indexing import Slice, ds
from rabbet_pallas.block_specs import (
    Blocked,
    BlockSpec,
    BoundedSlice,
    Buffered,
    CostEstimate,
    Element,
    GridSpec,
    Indirect,
    MemoryRef,
    MemorySpace,
    RevisitMode,
    Squeezed,
    no_block_spec,
)
from rabbet_pallas.scopes import empty_ref_like, run_scoped, run_state, with_scoped
from rabbet_pallas.semaphores import semaphore_read, semaphore_signal, semaphore_wait
from rabbet_pallas.small_functions import (
    align_to,
    broadcast_to,
    cdiv,
    empty,
    empty_like,
    multiple_of,
    next_power_of_2,
    strides_from_shape,
    reciprocal,
)
from rabbet_pallas.cost import estimate_cost
from rabbet_pallas.debugging import debug_check, debug_print, enable_debug_checks, enable_poison_buffers
from rabbet_pallas.cores import core_map, kernel

from rabbet.extend.functions import public_module

ANY = MemorySpace.ANY
HOST = MemorySpace.HOST
dslice = ds
squeezed = Squeezed()

__all__ = [
    "ANY",
    "HOST",
    "BlockSpec",
    "Blocked",
    "BoundedSlice",
    "Buffered",
    "CostEstimate",
    "Element",
    "GridSpec",
    "Indirect",
    "MemoryRef",
    "MemorySpace",
    "RevisitMode",
    "Slice",
    "Squeezed",
    "align_to",
    "broadcast_to",
    "cdiv",
    "core_map",
    "debug_check",
    "debug_print",
    "ds",
    "dslice",
    "empty",
    "empty_like",
    "empty_ref_like",
    "enable_debug_checks",
    "enable_poison_buffers",
    "estimate_cost",
    "kernel",
    "loop",
    "multiple_of",
    "next_power_of_2",
    "no_block_spec",
    "num_programs",
    "pallas_call",
    "program_id",
    "reciprocal",
    "run_scoped",
    "run_state",
    "semaphore_read",
    "semaphore_signal",
    "semaphore_wait",
    "squeezed",
    "strides_from_shape",
    "when",
    "with_scoped",
]
public_module(globals())
