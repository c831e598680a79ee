"""The normal distribution, with the mean ``loc`` and the standard deviation ``scale``."""

import math

from rabbet import Array, lax
from rabbet.extend.functions import public_module
from rabbet.scipy.arguments import ArrayLike, elementwise, real
from rabbet.scipy.special.error_values import log_normal, normal, normal_quantiles
from rabbet.scipy.special.numerics import choose, exp_square
from rabbet.scipy.stats.standardization import standardized


@elementwise
def logpdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The logarithm of the density at ``x``.

    >>> round(float(stats.norm.logpdf(0.5)), 4)
    -1.0439
    """
    z, scale = standardized("norm.logpdf", x, loc, scale)
    return -0.5 * z * z - (0.5 * math.log(2.0 * math.pi)) - lax.log(scale)


@elementwise
def pdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The density at ``x``.

    >>> round(float(stats.norm.pdf(0.5)), 4)
    0.3521
    """
    z, scale = standardized("norm.pdf", x, loc, scale)
    return exp_square(z, -0.5) * (1.0 / math.sqrt(2.0 * math.pi)) / scale


@elementwise
def cdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The probability of at most ``x``.

    >>> round(float(stats.norm.cdf(0.5)), 4)
    0.6915
    """
    z, scale = standardized("norm.cdf", x, loc, scale)
    return normal(z)


@elementwise
def logcdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The logarithm of the probability of at most ``x``.

    >>> round(float(stats.norm.logcdf(0.5)), 4)
    -0.3689
    """
    z, scale = standardized("norm.logcdf", x, loc, scale)
    return log_normal(z)


@elementwise
def sf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The probability of more than ``x``.

    >>> round(float(stats.norm.sf(0.5)), 4)
    0.3085
    """
    z, scale = standardized("norm.sf", x, loc, scale)
    return normal(-z)


@elementwise
def logsf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The logarithm of the probability of more than ``x``.

    >>> round(float(stats.norm.logsf(0.5)), 4)
    -1.1759
    """
    z, scale = standardized("norm.logsf", x, loc, scale)
    return log_normal(-z)


@elementwise
def ppf(q: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The quantile: the inverse of ``cdf``; NaN outside 0 to 1.

    >>> round(float(stats.norm.ppf(0.3)), 4)
    -0.5244
    """
    q, loc, scale = real("norm.ppf", q, loc, scale)
    return loc + choose(scale > 0.0, scale, math.nan) * normal_quantiles(q)


@elementwise
def isf(q: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The inverse of ``sf``; NaN outside 0 to 1.

    >>> round(float(stats.norm.isf(0.3)), 4)
    0.5244
    """
    q, loc, scale = real("norm.isf", q, loc, scale)
    return loc - choose(scale > 0.0, scale, math.nan) * normal_quantiles(q)


__all__ = ["cdf", "isf", "logcdf", "logpdf", "logsf", "pdf", "ppf", "sf"]

public_module(globals())
