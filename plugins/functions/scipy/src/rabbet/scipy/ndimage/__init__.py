"""Images of any number of dimensions: ``jax.scipy.ndimage``, and SciPy's filters and affine maps.

The modes are SciPy's: what is beyond the ends of an image.
"""

# ruff: noqa: F403 - each module says in __all__ what it gives

from rabbet.extend.functions import public_module as _public_module
from rabbet.scipy.ndimage.affine import *
from rabbet.scipy.ndimage.coordinates import *
from rabbet.scipy.ndimage.filters import *
from rabbet.scipy.ndimage.generic_filters import *
from rabbet.scipy.ndimage.rank_filters import *

_public_module(globals())
