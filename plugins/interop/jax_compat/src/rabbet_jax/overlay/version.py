"""``jax.version``."""

from rabbet_jax.jax_version import JAX_VERSION, numbers

__version__ = JAX_VERSION
__version_info__ = numbers(JAX_VERSION)
