"""``jax.extend.lowering``."""

WHY = (
    "a part of how JAX builds MLIR; Rabbet writes text",
    "rabbet.extend.primitive has the rule 'lower' for text",
)
ABSENT = "JaxIrContext LoweringRuleContext upstream_dialects"
