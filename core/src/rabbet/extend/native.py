"""What jaxlib offers beside compiling and running: its profiler, functions of other languages, programs as
HLO and as bytes.
"""

from __future__ import annotations

from rabbet.runtime.compiled import pack_executable, text_cost, unpack_executable
from rabbet.runtime.hlo import hlo_computation, hlo_module
from rabbet.runtime.native_functions import (
    include_dir,
    register_batch_partitionable,
    register_ffi_target,
    register_ffi_type,
    registered_targets,
)
from rabbet.runtime.profiling import memory_profile, profile_data_of, profiler

__all__ = [
    "hlo_computation",
    "hlo_module",
    "include_dir",
    "memory_profile",
    "pack_executable",
    "profile_data_of",
    "profiler",
    "register_batch_partitionable",
    "register_ffi_target",
    "register_ffi_type",
    "registered_targets",
    "text_cost",
    "unpack_executable",
]


def __dir__() -> list[str]:
    return list(__all__)
