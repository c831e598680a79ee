"""What rules of primitives are written with: checks of axes, batch dimensions, dtypes, parts of StableHLO."""

from __future__ import annotations

from rabbet.lowering.constants import dense
from rabbet.lowering.custom_calls import mlir_string
from rabbet.lowering.operation import Site
from rabbet.primitives.attributes import int_array, int_list
from rabbet.primitives.basic_reductions import extreme
from rabbet.primitives.batching import at_axis, at_front, batch_size
from rabbet.primitives.checks import axes_valid, axis_in_range, no_effects, same_dtype
from rabbet.primitives.convert import real_dtype, to_dtype
from rabbet.primitives.few_bits import in_wider, less_than_a_byte
from rabbet.primitives.gather import take_along
from rabbet.primitives.inlining import inline
from rabbet.primitives.loops import Counted, counted
from rabbet.primitives.regions import emit_pairs
from rabbet.primitives.zeros import spread
from rabbet.program.jaxpr import Enclosing
from rabbet.runtime.jaxlib.hlo import versioned_mosaic

__all__ = [
    "Counted",
    "Enclosing",
    "Site",
    "at_axis",
    "at_front",
    "axes_valid",
    "axis_in_range",
    "batch_size",
    "counted",
    "dense",
    "emit_pairs",
    "extreme",
    "in_wider",
    "inline",
    "int_array",
    "int_list",
    "less_than_a_byte",
    "mlir_string",
    "no_effects",
    "real_dtype",
    "same_dtype",
    "spread",
    "take_along",
    "to_dtype",
    "versioned_mosaic",
]


def __dir__() -> list[str]:
    return list(__all__)
