"""Bytes as ``Exported``, see ``layout``."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable
from typing import Any

import rabbet as rb
from rabbet import dtypes
from rabbet.export import devices
from rabbet.export.checks import DisabledSafetyCheck
from rabbet.export.errors import ExportError
from rabbet.export.exported import Exported
from rabbet.export.flatbuffer_reader import Buffer, Damaged
from rabbet.export.layout import (
    CALL_CHECK,
    CHECK_KIND,
    CHECK_TARGET,
    DIGEST_SIZE,
    DTYPE,
    DTYPES,
    KEYS,
    MARK,
    OLDEST_READ,
    SHAPE,
    VERSION,
    F,
)  # fmt: skip
from rabbet.export.shapes import parsed_shapes
from rabbet.export.trees import read_tree
from rabbet.extend.primitive import ShapedArray


def deserialize(blob: bytes | bytearray, *, trusted: bool = False) -> Exported:
    """The ``Exported`` of bytes that ``Exported.serialize`` made, here or in JAX.

    Loading looks at the description only; the program is compiled when it is called. A program computes, and
    can call native functions of this process, with attributes that it chooses itself: those that Python
    functions are called by take addresses of memory. So calls of others than the libraries of linear algebra
    and what XLA brings are refused, unless you trust its author. The first call reads the program in a
    process of its own, which a damaged one may end (about a second); programs that this process exported, and
    those that you trust, are read in this one.

    Args:
      blob: the bytes.
      trusted: whether the program may call any native function that is registered here, and is read in this
        process.

    Raises:
      ExportError: for bytes that are no artifact or are damaged, for one written in a newer layout, and for
        one with nodes of classes that are not registered for serialization here. When it is called: for
        native functions that it may not call.

    Example:
      >>> from rabbet import export
      >>> blob = export.export(rb.jit(lambda x: {"y": x + 1}))(1.0).serialize()
      >>> export.deserialize(blob).call(2.0)
      {'y': Array(3., dtype=float32)}
    """
    if not isinstance(blob, (bytes, bytearray, memoryview)):
        raise TypeError(f"deserialize takes bytes, as Exported.serialize returns, got {type(blob).__name__}")
    if type(trusted) is not bool:
        raise TypeError(f"deserialize: trusted is True or False, got {trusted!r:.60}")
    data = bytes(blob)
    tail = len(data) - len(MARK) - DIGEST_SIZE
    if tail > 0 and data[tail : tail + len(MARK)] == MARK:
        content = data[:tail]
        if hashlib.sha256(content).digest() != data[tail + len(MARK) :]:
            raise ExportError(
                "deserialize: these bytes are not those that were written, their checksum differs"
            )
        data = content
    try:
        return read(Buffer(data).root(), trusted)
    except Damaged as error:
        raise ExportError(
            f"deserialize: these bytes ({len(data)}) are no exported program, or a damaged one: {error}"
        ) from None


def read(table, trusted):
    """The ``Exported`` of a table."""
    version = table.number(F.VERSION, "H")
    if not OLDEST_READ <= version <= VERSION:
        raise ExportError(
            f"deserialize: the bytes say that they are of layout {version}, and layouts {OLDEST_READ} to "
            f"{VERSION} are read here; write them again with a version of JAX or Rabbet nearer to this one"
        )
    ins = avals_of(table, F.IN_AVALS, F.IN_AVAL_NUMBERS)
    outs = avals_of(table, F.OUT_AVALS, F.OUT_AVAL_NUMBERS)
    dims = parsed_shapes([names for names, _ in (*ins, *outs)])
    avals = [ShapedArray(shape, dtype) for shape, (_, dtype) in zip(dims, [*ins, *outs], strict=True)]
    in_avals, out_avals = tuple(avals[: len(ins)]), tuple(avals[len(ins) :])
    in_tree, out_tree = read_tree(table.table(F.IN_TREE)), read_tree(table.table(F.OUT_TREE))
    kept = tuple(table.numbers(F.KEPT, "H"))
    module = table.content(F.MODULE)
    if in_tree.num_leaves != len(in_avals) or out_tree.num_leaves != len(out_avals):
        raise Damaged("its structures do not fit its types")
    if list(kept) != sorted(set(kept)) or (kept and kept[-1] >= len(in_avals)):
        raise Damaged("its program takes arguments that it does not have")
    effects = [*table.texts(F.ORDERED), *table.texts(F.UNORDERED)]
    if effects:
        raise ExportError(
            f"deserialize: the program has effects, which are not read here: {', '.join(effects)}"
        )
    return Exported(
        fun_name=table.text(F.NAME),
        in_tree=in_tree,
        in_avals=in_avals,
        out_tree=out_tree,
        out_avals=out_avals,
        in_shardings_hlo=(None,) * len(in_avals),
        out_shardings_hlo=(None,) * len(out_avals),
        nr_devices=table.number(F.DEVICES, "I") or table.number(F.FEW_DEVICES, "H") or 1,
        platforms=tuple(table.texts(F.PLATFORMS)),
        ordered_effects=(),
        unordered_effects=(),
        disabled_safety_checks=tuple([read_check(c) for c in table.tables(F.CHECKS)]),
        mlir_module_serialized=module,
        calling_convention_version=table.number(F.CONVENTION, "H"),
        module_kept_var_idx=kept,
        uses_global_constants=bool(table.number(F.GLOBALS, "B")),
        _get_vjp=vjp_of(table, trusted),
        _trusted=trusted,
        _in_layouts=devices.numbered(table, F.NAMED_SHARDINGS, F.IN_SHARDING_NUMBERS, len(in_avals)),
        _out_layouts=devices.numbered(table, F.NAMED_SHARDINGS, F.OUT_SHARDING_NUMBERS, len(out_avals)),
    )


def vjp_of(table, trusted) -> Callable[[Any], Any] | None:
    """The derivative that was written along."""
    inner = table.table(F.VJP)
    if inner is None:
        return None
    found = read(inner, trusted)
    return lambda exported: found


def avals_of(table, whole, numbered):
    """Pairs of the dimensions, as texts, and the dtype: from a list of types by number, or one by one."""
    at = table.place(numbered)
    if at is None or table.place(F.AVALS) is None:
        return [read_aval(a) for a in table.tables(whole)]
    found = [read_aval(a) for a in table.tables(F.AVALS)]
    try:
        return [found[i] for i in table.numbers(numbered, "I")]
    except IndexError:
        raise Damaged("an array in it is of a type that it does not have") from None


def read_aval(table):
    """The dimensions, as texts, and the dtype of a type."""
    code = table.number(DTYPE, "B")
    if code >= len(DTYPES):
        raise ExportError(f"deserialize: it has arrays of the unknown dtype number {code}")
    return tuple(table.texts(SHAPE)), dtype_named(DTYPES[code])


@functools.cache
def dtype_named(name):
    """The dtype of a name in artifacts.

    Raises:
      ExportError: for one that no installed package brings.
    """
    if name == "float0":
        return dtypes.float0
    try:
        if name in KEYS:
            return rb.random.key_dtype(KEYS[name])
        return dtypes.canonicalize(name)
    except (ImportError, AttributeError, TypeError, ValueError) as error:
        raise ExportError(f"deserialize: it has arrays of {name}, and here: {error}") from None


def read_check(table):
    """A check that was left out."""
    if table.number(CHECK_KIND, "B") == CALL_CHECK:
        return DisabledSafetyCheck.custom_call(table.text(CHECK_TARGET))
    return DisabledSafetyCheck.platform()


__all__ = ["deserialize"]
