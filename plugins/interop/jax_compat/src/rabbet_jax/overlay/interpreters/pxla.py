"""``jax.interpreters.pxla``."""

from rabbet_jax.overlay._src.mesh import thread_resources

__all__ = ["thread_resources"]
