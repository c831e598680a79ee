"""What kernels for GPUs through Triton use besides."""

from rabbet_pallas.small_functions import approx_tanh
from rabbet_pallas.triton_functions import (
    atomic_add,
    atomic_and,
    atomic_cas,
    atomic_max,
    atomic_min,
    atomic_or,
    atomic_xchg,
    atomic_xor,
    debug_barrier,
    dot,
    elementwise_inline_asm,
    load,
    max_contiguous,
    store,
)
from rabbet_pallas.triton_params import CompilerParams

from rabbet.extend.functions import public_module

__all__ = [
    "CompilerParams",
    "approx_tanh",
    "atomic_add",
    "atomic_and",
    "atomic_cas",
    "atomic_max",
    "atomic_min",
    "atomic_or",
    "atomic_xchg",
    "atomic_xor",
    "debug_barrier",
    "dot",
    "elementwise_inline_asm",
    "load",
    "max_contiguous",
    "store",
]
public_module(globals())
