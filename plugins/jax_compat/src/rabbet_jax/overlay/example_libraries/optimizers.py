"""``jax.example_libraries.optimizers``: use optax."""

OPEN = True  # every name can be read
