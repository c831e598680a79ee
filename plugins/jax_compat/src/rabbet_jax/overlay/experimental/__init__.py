"""``jax.experimental``."""

from rabbet import io_callback


__all__ = ["io_callback"]
