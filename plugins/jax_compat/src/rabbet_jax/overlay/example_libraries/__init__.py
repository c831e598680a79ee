"""``jax.example_libraries``: the small libraries ``stax`` (layers) and ``optimizers``."""
