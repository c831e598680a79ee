"""``jax.distributed``: rabbet-distributed's, or what is so in a program of one process."""

import rabbet as rb

ABSENT = "initialize shutdown"

if not hasattr(rb, "distributed"):
    from rabbet_jax.single_process import is_initialized  # noqa: F401
