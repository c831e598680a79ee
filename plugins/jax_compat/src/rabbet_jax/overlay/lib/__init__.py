"""``jax.lib``."""

from jaxlib.version import __version__
