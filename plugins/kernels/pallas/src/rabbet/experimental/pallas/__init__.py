"""Kernels: functions of references to blocks of arrays, run for each program of a grid.

The names and their meaning are those of ``jax.experimental.pallas``. On the CPU kernels are compiled as
ordinary programs. Packages, such as ``rabbet-pallas-triton`` and ``rabbet-pallas-tpu``, write them for
hardware.
"""

from rabbet_pallas.api import pallas_call
from rabbet_pallas.control import loop, when
from rabbet_pallas.ids import num_programs, program_id
from rabbet_pallas.indexing import Slice, ds
from rabbet_pallas.specs import (
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
    "ds",
    "dslice",
    "loop",
    "no_block_spec",
    "num_programs",
    "pallas_call",
    "program_id",
    "squeezed",
    "when",
]
public_module(globals())
