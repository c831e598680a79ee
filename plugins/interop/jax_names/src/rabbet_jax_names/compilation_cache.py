"""Where compiled programs are kept, by JAX's functions."""

from __future__ import annotations

import os

import rabbet as rb


def set_cache_dir(path: str | os.PathLike) -> None:
    """Keep compiled programs in the folder ``path``: ``rb.config.update("cache_dir", path)``.

    Example:
      >>> from rabbet.experimental.compilation_cache import compilation_cache
      >>> before = rb.config.cache_dir
      >>> compilation_cache.set_cache_dir("compiled")
      >>> str(rb.config.cache_dir)
      'compiled'
      >>> rb.config.update("cache_dir", before)
    """
    rb.config.update("cache_dir", os.fspath(path))


def reset_cache() -> None:
    """Nothing: the folder is looked up for each program, so that there is no state to forget.

    Example:
      >>> from rabbet.experimental.compilation_cache import compilation_cache
      >>> compilation_cache.reset_cache()
    """


__all__ = ["reset_cache", "set_cache_dir"]
