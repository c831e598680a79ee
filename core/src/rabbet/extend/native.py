"""What jaxlib offers beside compiling and running: its profiler, functions of other languages, programs as
HLO and as bytes.
"""

from __future__ import annotations

from rabbet.runtime.compile_for_plugins import pack_executable, text_cost, unpack_executable
from rabbet.runtime.jaxlib.compiler_facts import compiler_has
from rabbet.runtime.jaxlib.hlo import hlo_computation, hlo_module, mlir_module, versioned_mosaic
from rabbet.runtime.jaxlib.native_functions import (
    include_dir,
    provide_sparse_products,
    register_batch_partitionable,
    register_ffi_target,
    register_ffi_type,
    registered_targets,
)
from rabbet.runtime.jaxlib.portable import (
    foreign_functions,
    from_portable,
    refine_shapes,
    stablehlo_versions,
    to_portable,
)
from rabbet.runtime.platforms.backends import all_native_calls
from rabbet.runtime.platforms.native_calls import NativeCalls
from rabbet.runtime.platforms.profiling import memory_profile, profile_data_of, profiler
from rabbet.runtime.platforms.shared_libraries import missing_libraries
from rabbet.runtime.platforms.vendor_wheels import VendorWheels

__all__ = [
    "NativeCalls",
    "VendorWheels",
    "all_native_calls",
    "compiler_has",
    "foreign_functions",
    "from_portable",
    "hlo_computation",
    "hlo_module",
    "include_dir",
    "memory_profile",
    "missing_libraries",
    "mlir_module",
    "pack_executable",
    "profile_data_of",
    "profiler",
    "provide_sparse_products",
    "refine_shapes",
    "register_batch_partitionable",
    "register_ffi_target",
    "register_ffi_type",
    "registered_targets",
    "stablehlo_versions",
    "text_cost",
    "to_portable",
    "unpack_executable",
    "versioned_mosaic",
]


def __dir__() -> list[str]:
    return list(__all__)
