"""Images of any number of dimensions: the field's ``jax.scipy.ndimage``."""

from rabbet.extend.functions import fold_public as _fold_public
from rabbet.scipy.ndimage.coordinates import map_coordinates

__all__ = ["map_coordinates"]

_fold_public(globals())
