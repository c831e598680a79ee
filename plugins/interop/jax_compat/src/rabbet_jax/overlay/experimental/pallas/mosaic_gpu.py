"""``jax.experimental.pallas.mosaic_gpu``: its names can be read, and raise when they are called."""

OPEN = True
WHY = (
    "Rabbet writes no kernels for Mosaic GPU",
    "choose the library's implementation for Triton, or the one without kernels",
)
