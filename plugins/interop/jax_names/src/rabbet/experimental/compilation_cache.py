"""The persistent compilation cache, by JAX's functions; the setting is ``config.cache_dir``."""

from rabbet_jax_names import compilation_cache

__all__ = ["compilation_cache"]
