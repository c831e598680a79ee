"""``jax._src.flatten_util``: as ``jax.flatten_util``."""

from rabbet.flatten_util import ravel_pytree

__all__ = ["ravel_pytree"]
