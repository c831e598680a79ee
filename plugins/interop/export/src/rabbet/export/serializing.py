"""``Exported`` as bytes, see ``layout``."""

import hashlib

from rabbet import dtypes
from rabbet.export import devices
from rabbet.export.errors import ExportError
from rabbet.export.flatbuffer_writer import Number, Numbers, written
from rabbet.export.layout import (
    CALL_CHECK,
    CHECK_KIND,
    CHECK_TARGET,
    DTYPE,
    DTYPES,
    MARK,
    MEMORY,
    ON_DEVICE,
    PLATFORM_CHECK,
    SHAPE,
    VERSION,
    F,
)  # fmt: skip
from rabbet.export.shapes import dimension_names
from rabbet.export.trees import tree_fields
from rabbet.extend.backend import jaxlib_version


def serialized(exported, vjp_order):
    """The bytes of an ``Exported`` with as many derivatives as asked for."""
    if vjp_order < 0:
        raise ValueError(f"serialize: vjp_order is how many derivatives to write, got {vjp_order}")
    content = written(fields_of(exported, vjp_order))
    return bytearray(content + MARK + hashlib.sha256(content).digest())


def fields_of(exported, vjp_order):
    """The outermost table."""
    avals = list(dict.fromkeys([*exported.in_avals, *exported.out_avals]))
    place = {aval: i for i, aval in enumerate(avals)}
    lying = devices.sharding_fields(exported._in_layouts, exported._out_layouts)
    return {
        F.VERSION: Number("H", VERSION),
        F.NAME: exported.fun_name,
        F.IN_TREE: tree_fields(exported.in_tree),
        F.IN_AVALS: [aval_fields(a) for a in exported.in_avals],
        F.OUT_TREE: tree_fields(exported.out_tree),
        F.OUT_AVALS: [aval_fields(a) for a in exported.out_avals],
        F.IN_SHARDINGS: lying["older_in"],
        F.OUT_SHARDINGS: lying["older_out"],
        F.PLATFORMS: list(exported.platforms),
        F.ORDERED: [],
        F.UNORDERED: [],
        F.CHECKS: [check_fields(c) for c in exported.disabled_safety_checks],
        F.MODULE: exported.mlir_module_serialized,
        F.CONVENTION: Number("H", exported.calling_convention_version),
        F.KEPT: Numbers("H", exported.module_kept_var_idx),
        F.GLOBALS: Number("?", exported.uses_global_constants),
        F.VJP: fields_of(exported.vjp(), vjp_order - 1) if vjp_order else None,
        F.DEVICES: Number("I", exported.nr_devices),
        F.AVALS: [aval_fields(a) for a in avals],
        F.MESHES: [],
        F.NAMED_SHARDINGS: lying["all"],
        F.IN_AVAL_NUMBERS: Numbers("I", tuple([place[a] for a in exported.in_avals])),
        F.OUT_AVAL_NUMBERS: Numbers("I", tuple([place[a] for a in exported.out_avals])),
        F.IN_SHARDING_NUMBERS: lying["ins"],
        F.OUT_SHARDING_NUMBERS: lying["outs"],
        F.WRITER: jaxlib_version(),
    }


def aval_fields(aval):
    """A type."""
    name = "float0" if aval.dtype == dtypes.float0 else aval.dtype.name
    if name not in DTYPES:
        raise ExportError(f"arrays of {name} have no place in exported programs; convert them")
    return {
        SHAPE: dimension_names(aval.shape),
        DTYPE: Number("B", DTYPES.index(name)),
        MEMORY: Number("B", ON_DEVICE),
    }


def check_fields(check):
    """A check that was left out."""
    target = check.is_custom_call()
    if target is None:
        return {CHECK_KIND: Number("B", PLATFORM_CHECK)}
    return {CHECK_KIND: Number("B", CALL_CHECK), CHECK_TARGET: target}


__all__ = ["serialized"]
