"""The persistent compilation cache, by JAX's functions; the setting is ``config.cache_dir``."""

from rabbet.experimental.compilation_cache import compilation_cache

from rabbet.extend.functions import public_module as _public_module

__all__ = ["compilation_cache"]

_public_module(globals())
