"""``jax._src.core``: as ``jax.core``, with what ``jax.extend.core`` has of it."""

from rabbet_jax.overlay.core import *  # noqa: F403
from rabbet_jax.overlay.extend.core import TraceTag, set_current_trace, take_current_trace

__all__ = ["TraceTag", "set_current_trace", "take_current_trace"]  # what stands above is there too
