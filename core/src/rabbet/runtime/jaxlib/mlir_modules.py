"""MLIR module objects, for the two calls that take no text: host callbacks and ahead-of-time compilation.

`adapter` imports this file when one of them is made: the bindings take about 0.1 s to import.
"""

from __future__ import annotations

import io
import threading
from typing import Any

from jaxlib import _jax
from jaxlib.mlir import ir
from jaxlib.mlir._mlir_libs import _jax_mlir_ext
from jaxlib.mlir.dialects import chlo, sdy, stablehlo

_mine = threading.local()


def context() -> Any:
    """Return the MLIR context of this thread's modules, made once.

    The compiler changes the context of the module that it compiles without a lock: two threads that compile
    with one context end the process.
    """
    if not hasattr(_mine, "context"):
        _mine.context = new_context()
    return _mine.context


def new_context() -> Any:
    """Return a new MLIR context with the dialects of programs."""
    registry = ir.DialectRegistry()
    _jax_mlir_ext.register_dialects(registry)
    made = ir.Context()
    made.append_dialect_registry(registry)
    made.load_all_available_dialects()
    for dialect in (stablehlo, chlo, sdy):
        dialect.register_dialect(made)
    return made


def parse(text: str) -> Any:
    """Return `text` as an MLIR module object; raises XlaRuntimeError, as compiling does, with positions."""
    try:
        return ir.Module.parse(text, context=context())
    except ir.MLIRError as error:
        raise _jax.JaxRuntimeError(str(error)) from None


def versioned_mosaic(text: str) -> bytes:
    """A TPU kernel in the dialect that has versions, as MLIR bytecode."""
    from jaxlib.mlir._mlir_libs import _tpu_ext
    from jaxlib.mlir.passmanager import PassManager

    made = new_context()
    _tpu_ext.register_dialect(made)
    with made, ir.Location.unknown():
        try:
            module = ir.Module.parse(text)
        except ir.MLIRError as error:
            raise _jax.JaxRuntimeError(str(error)) from None
        made.allow_unregistered_dialects = True  # operations get the names of the other dialect
        PassManager.parse("builtin.module(mosaic-serde{serialize=true})").run(module.operation)
        written = io.BytesIO()
        module.operation.write_bytecode(written, desired_version=0)
    return written.getvalue()


def problem(text: str) -> Any:
    """Return what is wrong with a module's text, in MLIR's words; None if it can be read."""
    try:
        parse(text)
    except _jax.JaxRuntimeError as error:
        return str(error)
    return None
