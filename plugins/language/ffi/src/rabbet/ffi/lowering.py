"""The text of a call: attributes, layouts and aliases in StableHLO."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from rabbet.extend.native import all_native_calls, registered_targets
from rabbet.extend.primitive import row_major
from rabbet.extend.rules import mlir_string
from rabbet.ffi.registration import PLATFORMS


def ffi_lowering(
    call_target_name: str,
    *,
    operand_layouts: Sequence[Any] | None = None,
    result_layouts: Sequence[Any] | None = None,
    backend_config: Mapping[str, Any] | str | None = None,
    skip_ffi_layout_processing: bool = False,
    has_side_effect: bool = False,
    operand_output_aliases: Mapping[int, int] | None = None,
    api_version: int = 4,
) -> Callable:
    """A ``lower`` rule that calls a registered function, for a primitive of your own::

        norm.rule("lower")(ffi_lowering("norm", backend_config={"eps": np.float32(1e-5)}))

    Args:
      call_target_name: the name under which the function is registered.
      operand_layouts, result_layouts: a tuple of dimensions for each array, from the one that varies fastest
        to the slowest (XLA's order), or None for row-major; by default row-major throughout.
      backend_config: the attributes of the call by name; for ``api_version`` below 4 one text.
      skip_ffi_layout_processing: accepted; layouts are taken as they are.
      has_side_effect: whether the call stays although nobody reads its results.
      operand_output_aliases: ``{operand: result}`` of what shares memory.
      api_version: XLA's version of the interface; 4 is the typed FFI.

    Returns:
      ``rule(op, *names, **attributes)``; attributes that are given add to ``backend_config``.

    Example:
      >>> from rabbet.extend.primitive import Primitive
      >>> from rabbet.ffi import ffi_lowering
      >>> norm = Primitive("norm", lambda x: x)
      >>> _ = norm.rule("lower")(ffi_lowering("norm", backend_config={"eps": np.float32(1e-5)}))
      >>> norm.name
      'norm'
    """

    def rule(op, *names, **attributes):
        if api_version < 4:  # a typed call that nobody registered is an error of the compiler's
            check_registered(call_target_name, op.platform)
        if attributes and isinstance(backend_config, str):
            raise TypeError(
                f"ffi_lowering: {call_target_name!r} has a text for its attributes, got others too"
            )
        given = (
            backend_config if isinstance(backend_config, str) else {**(backend_config or {}), **attributes}
        )
        text = call_text(
            call_target_name, names, op.in_avals, op.out_avals, attributes=given, api_version=api_version,
            layouts=(operand_layouts, result_layouts), aliases=operand_output_aliases or {},
            has_side_effect=has_side_effect,
        )  # fmt: skip
        results = op.emit_all(text, len(op.out_avals))
        return results if op.primitive.multiple_results else results[0]

    return rule


def check_registered(name, platform):
    """Refuse a function that nobody has registered, and that no package says it calls (`rabbet.calls`): to
    call it could end the process.
    """
    known = registered_targets(PLATFORMS.get(platform, platform))
    if name not in known and not any(calls.knows(name) for calls in all_native_calls()):
        raise ValueError(
            f"no function is registered under the name {name!r} for the platform {platform!r}; register it "
            f"with rabbet.ffi.register_ffi_target({name!r}, pycapsule(library.Function), "
            f"platform={platform!r}) before the program that calls it is compiled"
        )


def call_text(
    target, names, in_avals, out_avals, *, attributes, layouts, aliases, has_side_effect, api_version
):
    """The operation that calls ``target``."""
    if api_version < 4 and not isinstance(attributes, str):
        if attributes:
            raise ValueError(
                f"{target}: functions of the older interface have no attributes ({', '.join(attributes)}); "
                "they take a text, legacy_backend_config"
            )
        attributes = ""
    if isinstance(attributes, str):
        config = mlir_string(attributes)
    else:
        config = f"{{{', '.join(f'{mlir_string(k)} = {attribute(v)}' for k, v in attributes.items())}}}"
    fields = [f"api_version = {api_version} : i32", f"backend_config = {config}"]
    if has_side_effect:
        fields.append("has_side_effect = true")
    for word, avals, given in (("operand", in_avals, layouts[0]), ("result", out_avals, layouts[1])):
        given = given or [None] * len(avals)
        if len(given) != len(avals):
            raise ValueError(f"{target}: there are {len(given)} layouts for {len(avals)} {word}s")
        orders = [row_major(a.ndim) if order is None else tuple(order) for a, order in zip(avals, given)]
        for aval, order in zip(avals, orders):
            if sorted(order) != list(range(aval.ndim)):
                raise ValueError(f"{target}: {order} is not a layout of {aval.str_short()}")
        fields.append(f"{word}_layouts = [{', '.join(map(layout, orders))}]")
    if aliases:
        shared = [alias(target, i, o, in_avals, out_avals) for i, o in aliases.items()]
        fields.append(f"output_operand_aliases = [{', '.join(shared)}]")
    types = ", ".join([a.mlir for a in out_avals])
    ins = ", ".join([a.mlir for a in in_avals])
    return (
        f"stablehlo.custom_call @{mlir_string(target)}({', '.join(names)}) {{{', '.join(fields)}}} : "
        f"({ins}) -> {types if len(out_avals) == 1 else f'({types})'}"
    )


def alias(target, operand, result, in_avals, out_avals):
    """One pair of an operand and a result in the same memory."""
    if not (0 <= operand < len(in_avals) and 0 <= result < len(out_avals)):
        raise ValueError(f"{target}: input_output_aliases names operand {operand} and result {result}")
    if in_avals[operand].mlir != out_avals[result].mlir:
        raise ValueError(
            f"{target}: operand {operand} ({in_avals[operand].str_short()}) and result {result} "
            f"({out_avals[result].str_short()}) cannot share memory"
        )
    place = result if len(out_avals) > 1 else ""
    return (
        f"#stablehlo.output_operand_alias<output_tuple_indices = [{place}], operand_index = {operand}, "
        "operand_tuple_indices = []>"
    )


def layout(order):
    """A layout as an attribute."""
    shown = f"[{', '.join(map(str, order))}]" if order else ""
    return f"dense<{shown}> : tensor<{len(order)}xindex>"


def attribute(value):
    """An attribute of a call: bool, int (64 bits), float (64 bits), NumPy scalars and arrays of their own
    width, text, and sequences and dicts of these.
    """
    if isinstance(value, str):
        return mlir_string(value)
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    if isinstance(value, int):
        return f"{value} : i64"
    if isinstance(value, float):
        return number(np.float64(value))
    if isinstance(value, np.generic):
        return number(value)
    if isinstance(value, np.ndarray):
        if value.ndim > 1:
            raise TypeError(
                f"an attribute has at most one dimension, got an array of the shape {value.shape}"
            )
        if value.ndim == 0:
            return attribute(value[()])
        parts = ", ".join(number(x).partition(" : ")[0] if x.dtype != bool else attribute(x) for x in value)
        kind = "i1" if value.dtype == bool else element_type(value.dtype)
        return f"array<{kind}{': ' * bool(parts)}{parts}>"
    if isinstance(value, (tuple, list)):
        return f"[{', '.join(map(attribute, value))}]"
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{mlir_string(k)} = {attribute(v)}' for k, v in value.items())}}}"
    raise TypeError(
        f"an attribute is a bool, a number, a NumPy array, a text, or a tuple or dict of these, got "
        f"{type(value).__name__} {value!r:.40}"
    )


def element_type(dtype):
    """The MLIR type of the numbers in an array."""
    if dtype.kind in "if" and dtype.isbuiltin == 1:
        return f"{dtype.kind}{8 * dtype.itemsize}"
    raise TypeError(f"arrays of {dtype} cannot be attributes; convert them to a signed or floating dtype")


def number(value):
    """A NumPy scalar with its type."""
    if value.dtype.kind in "iu":
        return f"{int(value)} : {'u' * (value.dtype.kind == 'u')}i{8 * value.dtype.itemsize}"
    if value.dtype.kind != "f":
        raise TypeError(f"an attribute cannot be the {value.dtype} {value}")
    bits = 8 * value.dtype.itemsize
    pattern = int(np.asarray(value).view(f"u{value.dtype.itemsize}"))  # exact, infinities and NaN included
    return f"0x{pattern:0{bits // 4}X} : f{bits}"
