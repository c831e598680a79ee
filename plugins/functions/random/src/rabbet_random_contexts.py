"""Settings of ``rabbet.random`` as context managers: ``with rb.default_prng_impl("rbg"):``."""

from rabbet import config

debug_key_reuse = config.context("debug_key_reuse")
default_prng_impl = config.context("default_prng_impl")
enable_custom_prng = config.context("enable_custom_prng")
legacy_prng_key = config.context("legacy_prng_key")
threefry_partitionable = config.context("threefry_partitionable")

__all__ = [
    "debug_key_reuse", "default_prng_impl", "enable_custom_prng", "legacy_prng_key", "threefry_partitionable",
]  # fmt: skip
