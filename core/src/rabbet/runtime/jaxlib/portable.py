"""Programs as portable artifacts of StableHLO, which other versions of jaxlib read; and programs of others
taken apart.

An artifact is versioned: what is written for an older version of StableHLO is read by every jaxlib that knows
that version or a newer one. MLIR is imported when one of these functions is called.
"""

from __future__ import annotations

import functools
import io
import os
import re
import subprocess
import sys
from typing import Any, NamedTuple

from jaxlib import _jax

from rabbet.lowering.foreign_functions import ForeignFunctions

# What only arguments and results of a whole program have: memory to give up, and a place over devices.
OF_PROGRAMS = ("tf.aliasing_output", "jax.buffer_donor", "sdy.sharding", "mhlo.memory_kind")

# Run by another process: its standard input is an artifact, its output the text.
READ = """
import sys
from rabbet.extend.native import from_portable
try:
    text = from_portable(sys.stdin.buffer.read(), trusted=True)
    sys.stdout.buffer.write(text.encode())
except (ValueError, RuntimeError) as error:
    sys.stderr.write("refused: " + str(error))
    sys.exit(3)
"""
SECONDS = 600

# How an artifact begins: MLIR's mark, and the version that it was written for.
WRITTEN_FOR = re.compile(rb"ML\xefR.{0,4}?StableHLO_v(\d+\.\d+\.\d+)\x00", re.DOTALL)


def to_portable(text: str, version: str, *, shardings: bool = False) -> bytes:
    """A StableHLO module as a portable artifact.

    Args:
      text: the module; operations of CHLO are rewritten by those of StableHLO.
      version: that of StableHLO to write for, such as ``"1.17.0"``.
      shardings: whether the module says how values lie over devices. Shardy's operations are written as they
        are then: their form is not versioned.

    Returns:
      bytes.

    Raises:
      ValueError: for what that version cannot express, and for text that is not a module.

    Example:
      >>> from rabbet.extend.native import from_portable, stablehlo_versions, to_portable
      >>> def double(x):
      ...     return 2 * x
      >>> artifact = to_portable(rb.jit(double).lower(1.0).as_text(), stablehlo_versions().current)
      >>> "stablehlo.multiply" in from_portable(artifact, trusted=True)
      True
    """
    ir, context = _context()
    try:
        with context:
            return _jax.mlir.serialize_portable_artifact(ir.Module.parse(text), version, shardings)
    except (ValueError, RuntimeError, _jax.JaxRuntimeError, ir.MLIRError) as error:
        raise ValueError(f"StableHLO {version} cannot express the program: {error}") from None


def from_portable(artifact: Any, *, trusted: bool = False) -> Any:
    """The StableHLO module of a portable artifact, as text.

    Args:
      artifact: bytes.
      trusted: True: they are as ``to_portable`` made them, so they are read in this process. MLIR's reader
        ends its process over some damage, so others are read in a process of their own; that takes a second.

    Raises:
      ValueError: for bytes that are no artifact, one of a newer StableHLO, or one that ends its reader.

    Example:
      >>> from rabbet.extend.native import from_portable
      >>> try:
      ...     from_portable(b"no artifact")
      ... except ValueError as error:
      ...     print(str(error).partition(" that")[0])
      these bytes are not a portable artifact
    """
    data, current = bytes(artifact), stablehlo_versions().current
    said = WRITTEN_FOR.match(data)
    if said is None:  # whatever else it is, the reader takes it for text
        raise ValueError(
            f"these bytes are not a portable artifact that StableHLO {current} reads: they begin with "
            f"{data[:4]!r}"
        )
    if not trusted:
        return _read_apart(data)
    ir, context = _context()
    try:
        with context:
            return _text(_jax.mlir.deserialize_portable_artifact(data, context).operation)
    except (ValueError, RuntimeError, _jax.JaxRuntimeError, ir.MLIRError) as error:
        raise ValueError(
            f"the artifact was written for StableHLO {said[1].decode()}, and this jaxlib reads up to "
            f"{current}: {error}"
        ) from None


def _read_apart(artifact: bytes) -> str:
    """The text of an artifact that may end the process that reads it.

    Raises:
      ValueError: for one that cannot be read.
    """
    paths = os.pathsep.join([p for p in sys.path if p])
    try:
        done = subprocess.run(
            [sys.executable, "-P", "-c", READ], input=artifact, capture_output=True, timeout=SECONDS,
            env={**os.environ, "PYTHONPATH": paths}, check=False,
        )  # fmt: skip
    except (OSError, ValueError, subprocess.TimeoutExpired) as error:
        raise ValueError(
            f"the artifact cannot be looked at in a process of its own: {error}\n"
            "  to read it in this process, if you trust its author: trusted=True"
        ) from None
    if done.returncode == 0:
        return done.stdout.decode()
    told = done.stderr.decode(errors="replace")
    why = told.partition("refused: ")[2] or f"it ended the process that read it ({done.returncode})"
    raise ValueError(why)


class Versions(NamedTuple):
    """Versions of StableHLO as texts, such as ``1.17.0``."""

    oldest: str
    current: str


@functools.cache
def stablehlo_versions() -> Any:
    """The versions of StableHLO that this jaxlib writes and reads: ``oldest`` and ``current``, as texts.

    Example:
      >>> from rabbet.extend.native import stablehlo_versions
      >>> tuple(map(int, stablehlo_versions().current.split("."))) >= (1, 17, 0)
      True
    """
    from jaxlib.mlir.dialects import stablehlo

    return Versions(stablehlo.get_minimum_version(), stablehlo.get_current_version())


def foreign_functions(text: Any, prefix: Any, entry: Any = "main") -> Any:
    """The functions of a module under names of their own, for ``op.include`` in a ``lower`` rule or for
    another module's text.

    Args:
      text: a StableHLO module.
      prefix: what every name gets in front.
      entry: the function that others call.

    Returns:
      a ``ForeignFunctions``: their ``text``, all of them private, and the ``symbol`` of the entry.

    Raises:
      ValueError: for text that is not a module, or has no such function.

    Example:
      >>> from rabbet.extend.native import foreign_functions
      >>> def double(x):
      ...     return 2 * x
      >>> foreign_functions(rb.jit(double).lower(1.0).as_text(), "theirs").symbol
      'theirs_main'
    """
    ir, context = _context()
    try:
        with context:
            module = ir.Module.parse(text)
            operations = list(module.body.operations)
            if not any(_symbol(ir, o) == entry for o in operations):
                raise ValueError(f"the module has no function {entry!r}")
            lines = []
            for operation in operations:
                _rename(ir, module, operation, prefix)
            for operation in operations:
                _make_private(ir, operation)
                lines.append(_text(operation.operation))
    except ir.MLIRError as error:
        raise ValueError(f"this text is not a module: {error}") from None
    return ForeignFunctions("\n".join(lines), f"{prefix}_{entry}")


def _rename(ir: Any, module: Any, operation: Any, prefix: Any) -> None:
    name = _symbol(ir, operation)
    if name is None:
        return
    new = f"{prefix}_{name}"
    ir.SymbolTable.replace_all_symbol_uses(name, new, module.operation)
    ir.SymbolTable.set_symbol_name(operation, new)


def _make_private(ir: Any, operation: Any) -> None:
    attributes = operation.attributes
    if "function_type" not in attributes:
        return
    attributes["sym_visibility"] = ir.StringAttr.get("private")
    for name in ("arg_attrs", "res_attrs"):
        if name in attributes:
            kept = [_without(ir, one) for one in attributes[name]]
            attributes[name] = ir.ArrayAttr.get(kept)


def _without(ir: Any, attributes: Any) -> Any:
    named = {entry.name: entry.attr for entry in attributes}
    return ir.DictAttr.get({name: one for name, one in named.items() if name not in OF_PROGRAMS})


def _symbol(ir: Any, operation: Any) -> Any:
    attributes = operation.attributes
    return ir.StringAttr(attributes["sym_name"]).value if "sym_name" in attributes else None


def refine_shapes(text: Any) -> Any:
    """A module whose ``main`` takes static shapes, with the shapes within it worked out from these.

    Raises:
      ValueError: where a shape does not follow from the arguments, or contradicts them; the text of
        assertions on shapes that do not hold.

    Example:
      >>> from rabbet.extend.native import refine_shapes
      >>> text = "func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> { return %x : tensor<3xf32> }"
      >>> refine_shapes(text).splitlines()[1].strip()
      'func.func @main(%arg0: tensor<3xf32>) -> tensor<3xf32> {'
    """
    ir, context = _context()
    try:
        with context:
            module = ir.Module.parse(text)
            stream = io.BytesIO()
            module.operation.write_bytecode(stream)
            refined = _jax.mlir.refine_polymorphic_shapes(stream.getvalue(), True, True, True)
            return _text(ir.Module.parse(refined).operation)
    except (ValueError, RuntimeError, _jax.JaxRuntimeError, ir.MLIRError) as error:
        raise ValueError(str(error)) from None


def _text(operation: Any) -> Any:
    return operation.get_asm(enable_debug_info=False)


def _context() -> tuple[Any, ...]:
    """MLIR's Python package, and a new context with the dialects of programs."""
    from rabbet.runtime.jaxlib import mlir_modules

    return mlir_modules.ir, mlir_modules.new_context()
