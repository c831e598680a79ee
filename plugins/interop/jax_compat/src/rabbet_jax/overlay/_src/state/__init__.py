"""``jax._src.state``: of its modules `types`."""
