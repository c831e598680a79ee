"""``jax.experimental.colocated_python``: names only; Orbax imports it."""

OPEN = True  # every name can be read
