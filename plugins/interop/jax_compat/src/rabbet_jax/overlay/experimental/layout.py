"""``jax.experimental.layout``."""

ABSENT = "Format Layout with_layout_constraint"
