"""Images in other sizes: ``jax.image``."""

from rabbet.extend.functions import public_module as _public_module
from rabbet.image.kernels import ResizeMethod
from rabbet.image.resampling import resize, scale_and_translate

__all__ = ["ResizeMethod", "resize", "scale_and_translate"]

_public_module(globals())
