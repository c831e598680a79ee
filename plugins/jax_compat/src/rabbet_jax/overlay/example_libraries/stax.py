"""``jax.example_libraries.stax``: use a library of layers."""

OPEN = True  # every name can be read
