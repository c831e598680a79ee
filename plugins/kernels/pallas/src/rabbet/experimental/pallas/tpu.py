"""What kernels for TPUs use besides: memories, parameters of the compiler."""

from rabbet_pallas.specs import MemorySpace, PrefetchScalarGridSpec
from rabbet_pallas.tpu_params import CompilerParams, GridDimensionSemantics

from rabbet.extend.functions import public_module

CMEM, HBM, SEMAPHORE, SMEM = MemorySpace.CMEM, MemorySpace.HBM, MemorySpace.SEMAPHORE, MemorySpace.SMEM
VMEM, VMEM_SHARED = MemorySpace.VMEM, MemorySpace.VMEM_SHARED
ARBITRARY, PARALLEL = GridDimensionSemantics.ARBITRARY, GridDimensionSemantics.PARALLEL
CORE_PARALLEL = GridDimensionSemantics.CORE_PARALLEL
SUBCORE_PARALLEL = GridDimensionSemantics.SUBCORE_PARALLEL

__all__ = [
    "ARBITRARY",
    "CMEM",
    "CORE_PARALLEL",
    "HBM",
    "PARALLEL",
    "SEMAPHORE",
    "SMEM",
    "SUBCORE_PARALLEL",
    "VMEM",
    "VMEM_SHARED",
    "CompilerParams",
    "GridDimensionSemantics",
    "MemorySpace",
    "PrefetchScalarGridSpec",
]
public_module(globals())
