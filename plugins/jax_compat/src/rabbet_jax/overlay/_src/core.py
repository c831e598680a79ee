"""``jax._src.core``: as ``jax.core``."""

from rabbet_jax.overlay.core import *  # noqa: F403
