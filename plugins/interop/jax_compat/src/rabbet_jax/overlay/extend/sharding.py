"""``jax.extend.sharding``: shardings as the compiler has them, of which nothing shows through."""
