"""``jax.experimental.pallas.ops``, where jax is not installed: names can be read, and raise when called."""

OPEN = True
OPEN_BELOW = True
WHY = (
    "the kernels that JAX ships are run from its own files, and jax is not installed",
    "install jax beside Rabbet, which still serves it",
)
