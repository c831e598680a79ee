"""``jax._src.compiler``, of which chex replaces a function by name."""

ABSENT = "backend_compile backend_compile_and_load"
