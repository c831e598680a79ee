"""Interpolation: the field's ``jax.scipy.interpolate``."""

from rabbet.extend.functions import fold_public as _fold_public
from rabbet.scipy.interpolate.grids import RegularGridInterpolator

__all__ = ["RegularGridInterpolator"]

_fold_public(globals())
