"""A program's text as an HLO module, before any pass of the compiler; and of an executable, what the compiler
left of it.
"""

from __future__ import annotations

from typing import Any

from jaxlib import _jax


def hlo_module(text: str) -> Any:
    """A StableHLO module as an HLO module, with methods such as ``to_string``.

    Example:
      >>> from rabbet.extend.native import hlo_module
      >>> def double(x):
      ...     return 2 * x
      >>> hlo_module(rb.jit(double).lower(1.0).as_text()).to_string().partition(",")[0]
      'HloModule double'
    """
    return hlo_computation(text).get_hlo_module()


def hlo_computation(text: str) -> Any:
    """A StableHLO module as XLA's computation, with methods such as ``as_hlo_text``.

    Example:
      >>> from rabbet.extend.native import hlo_computation
      >>> def double(x):
      ...     return 2 * x
      >>> hlo_computation(rb.jit(double).lower(1.0).as_text()).as_hlo_text().partition(",")[0]
      'HloModule double'
    """
    return _jax.mlir.mlir_module_to_xla_computation(text, use_tuple_args=False, return_tuple=False)


def mlir_module(text: str) -> Any:
    """A StableHLO module as an ``ir.Module`` of jaxlib's MLIR, which tools can walk through. Its context is
    this thread's own.

    Raises:
      JaxRuntimeError: the text cannot be read.

    Example:
      >>> from rabbet.extend.native import mlir_module
      >>> def double(x):
      ...     return 2 * x
      >>> mlir_module(rb.jit(double).lower(1.0).as_text()).operation.name
      'builtin.module'
    """
    from rabbet.runtime.jaxlib import mlir_modules  # the bindings take about 0.1 s to import

    return mlir_modules.parse(text)


def versioned_mosaic(text: str) -> bytes:
    """A kernel for TPUs, an MLIR module with the dialect of Mosaic, in the form that outlives releases of
    libtpu: bytecode of the dialect that has versions. A call that holds it says ``serialization_format`` 1.

    Raises:
      JaxRuntimeError: the text cannot be read.

    Example:
      >>> from rabbet.extend.rules import versioned_mosaic
      >>> versioned_mosaic("module { func.func @kernel() { return } }")[:4]
      b'ML\xefR'
    """
    from rabbet.runtime.jaxlib import mlir_modules

    return mlir_modules.versioned_mosaic(text)


def module_proto(exe: Any) -> bytes:
    """The first optimized module of an executable as an ``HloModuleProto``."""
    return exe.hlo_modules()[0].as_serialized_hlo_module_proto()


def buffer_assignment(exe: Any) -> bytes:
    """Where the compiler put what, as a ``BufferAssignmentProto``; b"" where it does not tell."""
    try:
        return bytes(exe.get_compiled_memory_stats().serialized_buffer_assignment_proto or b"")
    except (AttributeError, _jax.JaxRuntimeError):
        return b""
