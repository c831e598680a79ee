"""What jaxlib offers beside compiling and running: its profiler, functions of other languages, programs as
HLO and as bytes.
"""

from __future__ import annotations

import importlib
from typing import Any

from rabbet.runtime.compile_for_plugins import pack_executable, text_cost, unpack_executable
from rabbet.runtime.jaxlib.compiler_facts import compiler_has
from rabbet.runtime.jaxlib.hlo import hlo_computation, hlo_module, mlir_module
from rabbet.runtime.jaxlib.native_functions import (
    include_dir,
    provide_sparse_products,
    register_batch_partitionable,
    register_ffi_target,
    register_ffi_type,
    registered_targets,
)
from rabbet.runtime.platforms.backends import all_native_calls
from rabbet.runtime.platforms.native_calls import NativeCalls

__all__ = [
    "NativeCalls",
    "VendorWheels",  # noqa: F822 (by __getattr__)
    "all_native_calls",
    "compiler_has",
    "foreign_functions",  # noqa: F822 (by __getattr__)
    "from_portable",  # noqa: F822 (by __getattr__)
    "hlo_computation",
    "hlo_module",
    "include_dir",
    "memory_profile",  # noqa: F822 (by __getattr__)
    "missing_libraries",  # noqa: F822 (by __getattr__)
    "mlir_module",
    "pack_executable",
    "profile_data_of",  # noqa: F822 (by __getattr__)
    "profiler",  # noqa: F822 (by __getattr__)
    "provide_sparse_products",
    "refine_shapes",  # noqa: F822 (by __getattr__)
    "register_batch_partitionable",
    "register_ffi_target",
    "register_ffi_type",
    "registered_targets",
    "stablehlo_versions",  # noqa: F822 (by __getattr__)
    "text_cost",
    "to_portable",  # noqa: F822 (by __getattr__)
    "unpack_executable",
]


# What few plugins use is loaded when it is asked for.
LATER = {
    "foreign_functions": "rabbet.runtime.jaxlib.portable",
    "from_portable": "rabbet.runtime.jaxlib.portable",
    "refine_shapes": "rabbet.runtime.jaxlib.portable",
    "stablehlo_versions": "rabbet.runtime.jaxlib.portable",
    "to_portable": "rabbet.runtime.jaxlib.portable",
    "memory_profile": "rabbet.runtime.platforms.profiling",
    "profile_data_of": "rabbet.runtime.platforms.profiling",
    "profiler": "rabbet.runtime.platforms.profiling",
    "missing_libraries": "rabbet.runtime.platforms.shared_libraries",
    "VendorWheels": "rabbet.runtime.platforms.vendor_wheels",
}


def __getattr__(name: str) -> Any:
    if name in LATER:
        value = globals()[name] = getattr(importlib.import_module(LATER[name]), name)
        return value
    raise AttributeError(f"rabbet.extend.native has no {name!r}; its __all__ lists what plugins may use")


def __dir__() -> list[str]:
    return list(__all__)
