"""``jax.experimental.checkify``."""

ABSENT = "ErrorCategory Error"
