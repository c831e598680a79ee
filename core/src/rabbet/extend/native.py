"""What jaxlib offers beside compiling and running: its profiler, functions of other languages, programs as
HLO, as modules of MLIR and as bytes.
"""

from __future__ import annotations

from typing import Any

from rabbet.runtime.compiled import pack_executable, text_cost, unpack_executable
from rabbet.runtime.hlo import hlo_computation, hlo_module
from rabbet.runtime.native_functions import (
    include_dir,
    provide_sparse_products,
    register_batch_partitionable,
    register_ffi_target,
    register_ffi_type,
    registered_targets,
)
from rabbet.runtime.profiling import memory_profile, profile_data_of, profiler


def mlir_context() -> Any:
    """A new context of MLIR's Python bindings, ``jaxlib.mlir``, with the dialects of programs. The bindings
    are imported now, which takes about 0.1 s.

    Example:
      >>> from rabbet.extend.native import mlir_context
      >>> from jaxlib.mlir import ir
      >>> text = rb.jit(lambda x: 2 * x).lower(1.0).as_text()
      >>> with mlir_context():
      ...     len(list(ir.Module.parse(text).body.operations))
      1
    """
    from rabbet.runtime import mlir_modules

    return mlir_modules.new_context()


__all__ = [
    "hlo_computation",
    "hlo_module",
    "include_dir",
    "memory_profile",
    "mlir_context",
    "pack_executable",
    "profile_data_of",
    "profiler",
    "provide_sparse_products",
    "register_batch_partitionable",
    "register_ffi_target",
    "register_ffi_type",
    "registered_targets",
    "text_cost",
    "unpack_executable",
]


def __dir__() -> list[str]:
    return list(__all__)
