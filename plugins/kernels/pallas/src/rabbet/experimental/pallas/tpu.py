"""What kernels for TPUs use besides: memories, parameters of the compiler."""

from rabbet_pallas.block_specs import MemorySpace, PrefetchScalarGridSpec
from rabbet_pallas.cores import TensorCoreMesh
from rabbet_pallas.generator import (
    prng_random_bits,
    prng_seed,
    stateful_bernoulli,
    stateful_bits,
    stateful_uniform,
    stochastic_round,
)
from rabbet_pallas.interpreting import InterpretParams, force_tpu_interpret_mode
from rabbet_pallas.pipelines import emit_pipeline, emit_pipeline_with_allocations
from rabbet_pallas.semaphores import (
    SemaphoreType,
    async_copy,
    make_async_copy,
    make_async_remote_copy,
    sync_copy,
)
from rabbet_pallas.small_functions import reciprocal
from rabbet_pallas.tpu_functions import (
    bitcast,
    pack_elementwise,
    roll,
    unpack_elementwise,
    with_memory_space_constraint,
)
from rabbet_pallas.tpu_info import ChipVersion, TpuInfo, get_tpu_info, get_tpu_info_for_chip, is_tpu_device
from rabbet_pallas.tpu_params import CompilerParams, GridDimensionSemantics, SideEffectType
from rabbet_pallas.triton_functions import load, store

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
    "ChipVersion",
    "CompilerParams",
    "GridDimensionSemantics",
    "InterpretParams",
    "MemorySpace",
    "PrefetchScalarGridSpec",
    "SemaphoreType",
    "SideEffectType",
    "TensorCoreMesh",
    "TpuInfo",
    "async_copy",
    "bitcast",
    "emit_pipeline",
    "emit_pipeline_with_allocations",
    "force_tpu_interpret_mode",
    "get_tpu_info",
    "get_tpu_info_for_chip",
    "is_tpu_device",
    "load",
    "make_async_copy",
    "make_async_remote_copy",
    "pack_elementwise",
    "prng_random_bits",
    "prng_seed",
    "reciprocal",
    "roll",
    "stateful_bernoulli",
    "stateful_bits",
    "stateful_uniform",
    "stochastic_round",
    "store",
    "sync_copy",
    "unpack_elementwise",
    "with_memory_space_constraint",
]
public_module(globals())
