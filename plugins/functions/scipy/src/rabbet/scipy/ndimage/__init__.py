"""Images of any number of dimensions: ``jax.scipy.ndimage``."""

from rabbet.extend.functions import public_module as _public_module
from rabbet.scipy.ndimage.coordinates import map_coordinates

__all__ = ["map_coordinates"]

_public_module(globals())
