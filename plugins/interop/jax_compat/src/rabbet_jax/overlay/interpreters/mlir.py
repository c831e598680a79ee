"""``jax.interpreters.mlir``: lowerings that are functions; what builds MLIR by hand has no counterpart."""

from rabbet_jax.primitives import LowerFun as lower_fun
from rabbet_jax.primitives import register_lowering

ABSENT = (
    "LoweringParameters LoweringRule LoweringRuleContext LoweringResult ModuleContext aval_to_ir_type "
    "aval_to_ir_types core_call_lowering dense_int_elements dtype_to_ir_type emit_python_callback "
    "flatten_ir_values unflatten_ir_values_like_types ir ir_constant ir_constants i32_attr i64_attr "
    "jaxpr_subcomp lower_jaxpr_to_fun lower_jaxpr_to_module make_ir_context merge_mlir_modules "
    "module_to_bytecode module_to_string register_constant_handler shape_tensor token_type"
)
__all__ = ["lower_fun", "register_lowering"]
