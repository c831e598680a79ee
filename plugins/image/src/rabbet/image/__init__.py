"""Images in other sizes: the field's ``jax.image``."""

from rabbet.extend import fold_public as _fold_public
from rabbet.image.kernels import ResizeMethod
from rabbet.image.resampling import resize, scale_and_translate

__all__ = ["ResizeMethod", "resize", "scale_and_translate"]

_fold_public(globals())
