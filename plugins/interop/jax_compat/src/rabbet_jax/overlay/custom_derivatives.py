"""``jax.custom_derivatives``."""

ABSENT = "custom_jvp_call_p custom_vjp_call_p"
