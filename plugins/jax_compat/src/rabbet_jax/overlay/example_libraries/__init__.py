"""``jax.example_libraries``: small libraries of JAX, which are not offered; their names can be read."""
