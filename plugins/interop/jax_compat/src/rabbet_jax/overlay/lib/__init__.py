"""``jax.lib``."""

from rabbet.extend.backend import jaxlib_version

__version__ = jaxlib_version()
