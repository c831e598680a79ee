"""A library of functions, such as ``rabbet.numpy``: fused programs, operands, results and messages."""

from __future__ import annotations

from rabbet.lax.promotion import (
    broadcast_operands,
    cast_operand,
    is_array_like,
    promote_operands,
)
from rabbet.lax.values import with_weak_type
from rabbet.messages.argument_names import (
    argument_name,
    convert_leaves,
    describe_value,
    parameter_name,
)
from rabbet.messages.function_names import describe_function, named_like
from rabbet.messages.source_positions import source_position
from rabbet.messages.tracebacks import fold_traceback, folded, folds_itself, public_module
from rabbet.program.python_scalars import is_python_scalar
from rabbet.runtime.arrays.values import array_or_tracer, to_array
from rabbet.runtime.compile_for_plugins import is_evaluating
from rabbet.runtime.evaluation import eager_unary
from rabbet.runtime.fused import fused
from rabbet.runtime.housekeeping import on_clear_caches
from rabbet.runtime.transfer import obey_sharding, obeys_out_sharding

__all__ = [
    "argument_name",
    "array_or_tracer",
    "broadcast_operands",
    "cast_operand",
    "convert_leaves",
    "describe_function",
    "describe_value",
    "eager_unary",
    "fold_traceback",
    "folded",
    "folds_itself",
    "fused",
    "is_array_like",
    "is_evaluating",
    "is_python_scalar",
    "named_like",
    "obey_sharding",
    "obeys_out_sharding",
    "on_clear_caches",
    "parameter_name",
    "promote_operands",
    "public_module",
    "source_position",
    "to_array",
    "with_weak_type",
]


def __dir__() -> list[str]:
    return list(__all__)
