"""``jax.interpreters.mlir``: lowerings that are functions; what builds MLIR by hand has no counterpart."""

from dataclasses import dataclass
from typing import Any

from rabbet_jax.primitives import LowerFun as lower_fun
from rabbet_jax.primitives import register_lowering


@dataclass(frozen=True)
class LoweringParameters:
    """What lowering is asked for; Rabbet's takes none of it, and programs hand it on."""

    override_lowering_rules: Any = None
    global_constant_computation: bool = False
    for_export: bool = False
    export_ignore_forward_compatibility: bool = False
    hoist_constants_as_args: bool = False


WHY = (
    "a part of how JAX builds MLIR; Rabbet writes text",
    "lower by a function of arrays, register_lowering(primitive, lower_fun(f))",
)
ABSENT = (
    "LoweringRule LoweringRuleContext LoweringResult ModuleContext aval_to_ir_type "
    "aval_to_ir_types core_call_lowering dense_int_elements dtype_to_ir_type emit_python_callback "
    "flatten_ir_values unflatten_ir_values_like_types ir ir_constant ir_constants i32_attr i64_attr "
    "jaxpr_subcomp lower_jaxpr_to_fun lower_jaxpr_to_module make_ir_context merge_mlir_modules "
    "AxisContext ConstantHandler DEVICE_TO_DEVICE_TYPE RECV_FROM_HOST_TYPE SEND_TO_HOST_TYPE SPMDAxisContext "
    "ShapePolyLoweringState ShardingContext Token TokenSet Value dense_int_array flatten_ir_types "
    "ir_attribute "
    "ir_tree_registry ir_type_handlers lowerable_effects "
    "module_to_bytecode module_to_string register_constant_handler shape_tensor token_type"
)
__all__ = ["lower_fun", "register_lowering"]
