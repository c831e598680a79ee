"""``jax.extend.ifrt_programs``: names only; Orbax imports it."""

OPEN = True  # every name can be read
