"""Exported programs as a SavedModel of TensorFlow, written without TensorFlow.

The model is a graph of placeholders and one operation, ``XlaCallModule``, for each program, which has the
portable StableHLO in an attribute. The messages are those of TensorFlow's ``saved_model.proto``,
``meta_graph.proto``, ``graph.proto``, ``attr_value.proto`` and ``tensor_shape.proto``.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rabbet import tree
from rabbet.export.calling import moves, name_of
from rabbet.export.errors import ExportError
from rabbet.export.exported import Exported
from rabbet.export.modules import CALLED
from rabbet.export.protobuf import mapping, message, packed

TYPES = {  # of types.proto
    "float32": 1, "float64": 2, "int32": 3, "uint8": 4, "int16": 5, "int8": 6, "complex64": 8, "int64": 9,
    "bool": 10, "bfloat16": 14, "uint16": 17, "complex128": 18, "float16": 19, "uint32": 22, "uint64": 23,
    "float8_e5m2": 24, "float8_e4m3fn": 25, "int4": 29, "uint4": 30,
}  # fmt: skip
PLATFORMS = {"cpu": "CPU", "cuda": "CUDA", "rocm": "ROCM", "tpu": "TPU"}
DEFAULT = "serving_default"  # the signature that servers call if they are told none
CONVENTION = 9  # the newest way to call ``main`` that the oldest of these TensorFlows knows
PRODUCER, CONSUMER = 1882, 12  # versions of graphs: TensorFlow's of 2024, and since 2016


def write_saved_model(
    exported: Exported | Mapping[str, Exported],
    folder: str | os.PathLike[str],
    *,
    input_names: Sequence[str] | None = None,
    output_names: Sequence[str] | None = None,
    tags: Sequence[str] = ("serve",),
) -> Path:
    """Write a SavedModel, which TensorFlow loads and TensorFlow Serving serves.

    Args:
      exported: a program, or programs by the names of signatures; a single one is ``serving_default``.
      folder: where to write; it is made, and must not hold a model.
      input_names, output_names: one for each leaf of the arguments and of the result, for a single program.
        By default they come from the places of the leaves: ``args_0``, ``args_0_w``; ``output_y``.
      tags: of the graph.

    Returns:
      the folder's path.

    Raises:
      ExportError: for dtypes and native functions that TensorFlow does not have (LAPACK's), several devices,
        or names that are used twice, are empty or cannot be shown. TypeError: for names that are no list of
        texts.
      FileExistsError: for a folder that has a model.

    Example:
      >>> import pathlib, tempfile
      >>> from rabbet import export
      >>> program = export.export(rb.jit(lambda x: 2 * x))(rb.ShapeDtypeStruct((3,), "float32"))
      >>> folder = export.write_saved_model(program, pathlib.Path(tempfile.mkdtemp()) / "double")
      >>> [path.name for path in folder.iterdir()]
      ['saved_model.pb']
    """
    single = isinstance(exported, Exported)
    programs: Mapping[str, Any] = {DEFAULT: exported} if isinstance(exported, Exported) else exported
    whole = isinstance(programs, Mapping) and all(isinstance(p, Exported) for p in programs.values())
    if not whole or not programs:
        raise TypeError("write_saved_model takes what export returned, or a dict from names to such")
    if not single and (input_names is not None or output_names is not None):
        raise TypeError("write_saved_model: input_names and output_names are for a single program")
    checked_names(list(programs), "the names of signatures")
    tags = checked_names(tags, "tags")
    nodes: list[Any] = []
    signatures = {}
    for number, (name, program) in enumerate(programs.items()):
        paths = [name_of(program, i).removeprefix("kw") for i in range(len(program.in_avals))]
        ins = names_for(program, input_names, "input_names", paths)
        places = [tree.leaf_path(program.out_tree, i) for i in range(len(program.out_avals))]
        outs = names_for(program, output_names, "output_names", ["output" + tree.keystr(p) for p in places])
        found, signatures[name] = nodes_of(program, f"program_{number}", ins, outs)
        nodes += found
    graph = {1: nodes, 4: {1: PRODUCER, 2: CONSUMER}}
    meta = {1: {4: list(tags), 5: "2.16.0", 7: 1}, 2: graph, 5: mapping(signatures)}
    path = Path(folder)
    target = path / "saved_model.pb"
    if target.exists():
        raise FileExistsError(f"write_saved_model: {target} is there already; give another folder")
    content = message({1: 1, 2: meta})
    path.mkdir(parents=True, exist_ok=True)
    part = path / f".saved_model.pb-{os.getpid()}-{os.urandom(4).hex()}"  # whole, or not there
    try:
        part.write_bytes(content)
        os.replace(part, target)
    except BaseException:
        part.unlink(missing_ok=True)
        raise
    return path


def checked_names(names, what):
    """Texts that servers can look for, as a list.

    Raises:
      TypeError: for a text in the place of several, and what is no text. ExportError: for empty ones, and
        those that are no UTF-8.
    """
    listed = names if isinstance(names, (list, tuple)) else None
    if listed is None or not all(isinstance(name, str) for name in listed):
        raise TypeError(f"write_saved_model: {what} are a list of texts, got {names!r:.60}")
    for name in listed:
        if not name or not name.isprintable():
            raise ExportError(f"write_saved_model: {what} hold {name!r:.60}, which is no name")
    return list(listed)


def names_for(program, given, argument, places):
    """The names of leaves: those that were given, checked, or the words of their places (``args[0]['w']`` is
    ``args_0_w``).
    """
    if given is None:
        names = ["_".join(re.findall(r"\w+", place)) for place in places]
    else:
        names = checked_names(given, argument)
    if len(names) != len(places):
        raise ExportError(
            f"write_saved_model: {program.fun_name!r} has {len(places)} leaves there, and {argument} names "
            f"{len(names)}"
        )
    if len(set(names)) < len(names):
        hint = f"\n  to fix: give {argument}" if given is None else ""
        raise ExportError(f"write_saved_model: {argument} names two leaves alike: {', '.join(names)}{hint}")
    return names


def nodes_of(program, prefix, in_names, out_names):
    """The nodes of a program, and its signature."""
    if program.nr_devices != 1:
        raise ExportError(
            f"write_saved_model: {program.fun_name!r} is for {program.nr_devices} devices, and TensorFlow "
            "calls it on one; export it without shardings"
        )
    called = {name for names in CALLED.findall(program.mlir_module()) for name in names}
    native = sorted([name for name in called if name.startswith("lapack_")])
    if native:
        raise ExportError(
            f"write_saved_model: {program.fun_name!r} calls functions of LAPACK, which TensorFlow does not "
            f"bring: {', '.join(native)}\n  to fix: leave this step to the caller"
        )
    kept = program.module_kept_var_idx
    inputs = {}
    nodes = []
    for i, (name, aval) in enumerate(zip(in_names, program.in_avals, strict=True)):
        node = f"{prefix}_input_{i}"
        attributes = {"dtype": {6: number_of(program, aval)}, "shape": {7: shape_of(aval)}}
        nodes.append({1: node, 2: "Placeholder", 5: mapping(attributes)})
        inputs[name] = {1: f"{node}:0", 2: number_of(program, aval), 3: shape_of(aval)}
    outputs = {}
    for i, (name, aval) in enumerate(zip(out_names, program.out_avals, strict=True)):
        outputs[name] = {1: f"{prefix}:{i}", 2: number_of(program, aval), 3: shape_of(aval)}
    platforms = [PLATFORMS.get(p, p.upper()) for p in program.platforms]
    attributes = {
        "version": {3: min(program.calling_convention_version, CONVENTION)},
        "module": {2: program.mlir_module_serialized},
        "Tin": {1: {6: packed([number_of(program, program.in_avals[i]) for i in kept])}},
        "Tout": {1: {6: packed([number_of(program, a) for a in program.out_avals])}},
        "Sout": {1: {7: [shape_of(a) for a in program.out_avals]}},
        "platforms": {1: {2: platforms}},
        "dim_args_spec": {1: {}},
        "function_list": {1: {}},
        "has_token_input_output": {5: False},
        "disabled_checks": {1: {2: [str(check) for check in program.disabled_safety_checks]}},
    }
    operands = [f"{prefix}_input_{i}" for i in kept]
    nodes.append({1: prefix, 2: "XlaCallModule", 3: operands, 5: mapping(attributes)})
    signature = {1: mapping(inputs), 2: mapping(outputs), 3: "tensorflow/serving/predict"}
    return nodes, signature


def number_of(program, aval):
    """TensorFlow's number of a dtype."""
    found = TYPES.get("float0" if not moves(aval) else aval.dtype.name)
    if found is None:
        raise ExportError(
            f"write_saved_model: {program.fun_name!r} has arrays of {aval.str_short()}, which TensorFlow "
            "does not have; convert them in the function"
        )
    return found


def shape_of(aval):
    """A shape; symbolic dimensions are open."""
    return {2: [{1: d if isinstance(d, int) else -1} for d in aval.shape]}


__all__ = ["write_saved_model"]
