"""``jax._src.lib``: what libraries ask of the jaxlib that is installed."""

from rabbet.extend.backend import jaxlib_version

from rabbet_jax.jax_version import numbers

version_str = jaxlib_version()
version = numbers(version_str)
# Libraries choose by it what they call of jaxlib's own, of which nothing shows through: as with the oldest.
jaxlib_extension_version = 0
