"""``jax.experimental.pallas.tpu_sc``: its names can be read, and raise when they are called."""

OPEN = True
WHY = (
    "Rabbet writes no kernels for SparseCore",
    "choose the library's implementation without kernels",
)
