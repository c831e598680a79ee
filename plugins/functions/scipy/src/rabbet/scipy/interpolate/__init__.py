"""Interpolation: ``jax.scipy.interpolate``."""

from rabbet.extend.functions import public_module as _public_module
from rabbet.scipy.interpolate.grids import RegularGridInterpolator

__all__ = ["RegularGridInterpolator"]

_public_module(globals())
