"""Interpolation: ``jax.scipy.interpolate``."""

from rabbet.extend.functions import public_module as _public_module
from rabbet.scipy.interpolate.bsplines import BSpline, make_interp_spline
from rabbet.scipy.interpolate.grids import RegularGridInterpolator
from rabbet.scipy.interpolate.cubic_splines import Akima1DInterpolator, CubicSpline, PchipInterpolator, PPoly

__all__ = [
    "Akima1DInterpolator", "BSpline", "CubicSpline", "PPoly", "PchipInterpolator", "RegularGridInterpolator",
    "make_interp_spline",
]  # fmt: skip

_public_module(globals())
