"""``jax.errors``: what the runtime raises under JAX's name too."""

from jaxlib._jax import JaxRuntimeError

__all__ = ["JaxRuntimeError"]
