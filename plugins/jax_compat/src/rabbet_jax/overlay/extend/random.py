"""``jax.extend.random``."""

ABSENT = (
    "define_prng_impl seed_with_impl threefry2x32_p threefry_2x32 threefry_prng_impl rbg_prng_impl "
    "unsafe_rbg_prng_impl"
)
