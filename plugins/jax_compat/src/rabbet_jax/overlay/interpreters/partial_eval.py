"""``jax.interpreters.partial_eval``."""

ABSENT = (
    "DynamicJaxprTracer JaxprTracer PartialVal Val abstract_eval_fun convert_constvars_jaxpr "
    "custom_partial_eval_rules dce_jaxpr dce_jaxpr_call_rule dce_jaxpr_closed_call_rule "
    "dce_jaxpr_consts dce_rules new_eqn_recipe partial_eval_jaxpr_custom_rules "
    "partial_eval_jaxpr_nounits trace_to_jaxpr_dynamic trace_to_jaxpr_nounits"
)
