"""Calls of native functions in a module's text: how they are written, and which ones a text makes.

A native function has to be registered with the runtime before a program that calls it is compiled, and
before one that calls it is loaded from the cache on disk: a call of what is not there can end the process.
So the runtime reads the names out of the text, whoever wrote it (``targets``), and has the backend provide
them (``Backend.provide_calls``).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from rabbet.program.avals import ShapedArray

# The target of calls of which Python says how they are cut up over devices (see ``Site.partitioner``).
PARTITIONED = "rabbet_partitioned"
CALL = re.compile(r'custom_call @(?:"([^"]+)"|([^"(\s]+))\(|call_target_name = "([^"]+)"')


def targets(text: str) -> frozenset[Any]:
    """The names of the native functions that the module ``text`` calls, a frozenset."""
    if "custom_call" not in text:
        return frozenset()
    return frozenset(["".join(found) for found in CALL.findall(text)])


def row_major(ndim: int) -> tuple[int, ...]:
    """The default layout of an array: dimensions from the one that varies fastest to the slowest.

    Example:
      >>> from rabbet.extend.primitive import row_major
      >>> row_major(3)
      (2, 1, 0)
    """
    return tuple(range(ndim - 1, -1, -1))


def column_major(ndim: int) -> tuple[int, ...]:
    """The layout of a batch of matrices stored by columns, as Fortran has it; of a vector, a plain one.

    Example:
      >>> from rabbet.extend.primitive import column_major
      >>> column_major(3)
      (1, 2, 0)
    """
    return (ndim - 2, ndim - 1, *range(ndim - 3, -1, -1)) if ndim >= 2 else row_major(ndim)


def call_text(
    target: str,
    operands: list[str],
    in_avals: list[ShapedArray],
    out_avals: list[ShapedArray],
    *,
    attributes: dict[Any, Any],
    layouts: tuple[list[tuple[Any, ...]], ...] | None,
    aliases: dict[Any, Any],
    config: str | None = None,
    properties: dict[Any, Any] | None = None,
) -> str:
    """The operation's text; see ``Site.custom_call``, which writes it."""
    ins, outs = layouts or ([row_major(a.ndim) for a in in_avals], [row_major(a.ndim) for a in out_avals])
    if config is not None and attributes:
        raise ValueError(
            f"a call of {target!r} with attributes and with a config\n"
            "  to fix: attributes for functions of XLA's typed FFI, a config for older ones"
        )
    fields = [
        *(
            ["api_version = 4 : i32", f"backend_config = {{{_dictionary(attributes)}}}"]
            if config is None
            else ["api_version = 1 : i32", f"backend_config = {mlir_string(config)}"]
        ),
        *([_dictionary(properties, str)] if properties else []),
        f"operand_layouts = [{', '.join(map(layout_text, ins))}]",
        f"result_layouts = [{', '.join(map(layout_text, outs))}]",
    ]
    if aliases:
        several = len(out_avals) > 1
        shared = [_alias(operand, result if several else "") for operand, result in aliases.items()]
        fields.append(f"output_operand_aliases = [{', '.join(shared)}]")
    types = ", ".join([a.mlir for a in out_avals])
    return (
        f"stablehlo.custom_call @{symbol(target)}({', '.join(operands)}) {{{', '.join(fields)}}} : "
        f"({', '.join([a.mlir for a in in_avals])}) -> {types if len(out_avals) == 1 else f'({types})'}"
    )


def _alias(operand: int, result: int | str) -> str:
    return (
        f"#stablehlo.output_operand_alias<output_tuple_indices = [{result}], operand_index = {operand}, "
        "operand_tuple_indices = []>"
    )


def layout_text(dimensions: tuple[int, ...]) -> str:
    shown = f"[{', '.join(map(str, dimensions))}]" if dimensions else ""
    return f"dense<{shown}> : tensor<{len(dimensions)}xindex>"


def symbol(name: str) -> str:
    """The name of a function behind the @ of a call."""
    return name if re.fullmatch(r"[A-Za-z_][\w.$]*", name) else mlir_string(name)


def mlir_string(text: bytes | str) -> str:
    r"""Text, or bytes, between quotes as MLIR reads it: what is not plain ASCII stands as two digits a byte.

    Example:
      >>> from rabbet.extend.rules import mlir_string
      >>> print(mlir_string('50 % "au lait"'))
      "50 % \22au lait\22"
    """
    data = text.encode() if isinstance(text, str) else text
    plain = lambda b: 32 <= b < 127 and b not in b'"\\'
    return '"' + "".join([chr(b) if plain(b) else f"\\{b:02X}" for b in data]) + '"'


def _dictionary(attributes: dict[Any, Any], text: Any = mlir_string) -> str:
    return ", ".join([f"{name} = {_attribute(value, text)}" for name, value in attributes.items()])


def _attribute(value: Any, text: Any) -> str:
    """An attribute of a call: a letter is the byte that LAPACK reads, a longer text is what ``text`` makes of
    it, bytes are text; numbers of NumPy's keep their width; lists hold attributes, dictionaries have names
    for them.
    """
    if isinstance(value, (list, tuple)):
        return f"[{', '.join([_attribute(x, text) for x in value])}]"
    if isinstance(value, dict):
        return f"{{{_dictionary(value, text)}}}"
    if isinstance(value, np.ndarray):
        if value.ndim != 1:
            raise TypeError(f"an attribute of a native call is a vector, not an array of shape {value.shape}")
        values = ", ".join([_attribute(x, text).partition(" : ")[0] for x in value])
        return f"array<{_element(value.dtype)}{': ' * bool(values)}{values}>"
    if isinstance(value, str):
        return f"{ord(value)} : ui8" if len(value) == 1 else text(value)
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    if isinstance(value, bytes):
        return mlir_string(value)
    if isinstance(value, (np.integer, np.floating)):
        return f"{_number(value)} : {_element(value.dtype)}"
    if isinstance(value, int):
        return f"{value} : i64"
    if isinstance(value, float):
        return f"{_number(np.float64(value))} : f64"
    raise TypeError(
        "an attribute of a native call is a bool, a number, a vector of NumPy's, text, bytes, or a list or "
        f"dict of these, not {type(value).__name__} {value!r:.40}"
    )


def _element(dtype: Any) -> str:
    """The MLIR type of a NumPy number."""
    letters = {"b": "i", "i": "i", "u": "ui", "f": "f"}
    if dtype.kind not in letters or dtype.isbuiltin != 1:
        raise TypeError(f"numbers of {dtype} cannot be attributes of a native call")
    return "i1" if dtype.kind == "b" else f"{letters[dtype.kind]}{8 * dtype.itemsize}"


def _number(value: Any) -> str:
    """A NumPy number as MLIR reads it: floats in decimals where these are exact and have a point, else by
    their bits.
    """
    if isinstance(value, np.integer):
        return str(value)
    shown = str(value)
    if np.isfinite(value) and "." in shown:
        return shown
    return f"0x{int(value.view(f'u{value.itemsize}')):0{2 * value.itemsize}X}"
