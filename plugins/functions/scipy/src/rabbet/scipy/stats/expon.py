"""The exponential distribution, from ``loc`` on, with the mean ``scale`` beyond it."""

import math

from rabbet import Array, lax
from rabbet.extend.functions import public_module
from rabbet.scipy.arguments import ArrayLike, elementwise, real
from rabbet.scipy.special.numerics import choose
from rabbet.scipy.stats.standardization import log_one_less, probability, standardized, within


@elementwise
def logpdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The logarithm of the density at ``x``.

    >>> round(float(stats.expon.logpdf(0.5)), 4)
    -0.5
    """
    z, scale = standardized("expon.logpdf", x, loc, scale)
    return within(z, z >= 0.0, -z - lax.log(scale), -math.inf)


@elementwise
def pdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The density at ``x``.

    >>> round(float(stats.expon.pdf(0.5)), 4)
    0.6065
    """
    z, scale = standardized("expon.pdf", x, loc, scale)
    return within(z, z >= 0.0, lax.exp(-z) / scale, 0.0)


@elementwise
def cdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The probability of at most ``x``.

    >>> round(float(stats.expon.cdf(0.5)), 4)
    0.3935
    """
    z, scale = standardized("expon.cdf", x, loc, scale)
    return within(z, z >= 0.0, -lax.expm1(-z), 0.0)


@elementwise
def logcdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The logarithm of the probability of at most ``x``.

    >>> round(float(stats.expon.logcdf(0.5)), 4)
    -0.9328
    """
    z, scale = standardized("expon.logcdf", x, loc, scale)
    return within(z, z > 0.0, log_one_less(choose(z > 0.0, z, 1.0)), -math.inf)


@elementwise
def sf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The probability of more than ``x``.

    >>> round(float(stats.expon.sf(0.5)), 4)
    0.6065
    """
    z, scale = standardized("expon.sf", x, loc, scale)
    return within(z, z >= 0.0, lax.exp(-z), 1.0)


@elementwise
def logsf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The logarithm of the probability of more than ``x``.

    >>> round(float(stats.expon.logsf(0.5)), 4)
    -0.5
    """
    z, scale = standardized("expon.logsf", x, loc, scale)
    return within(z, z >= 0.0, -z, 0.0)


@elementwise
def ppf(q: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The quantile: the inverse of ``cdf``; NaN outside 0 to 1.

    >>> round(float(stats.expon.ppf(0.3)), 4)
    0.3567
    """
    q, loc, scale = real("expon.ppf", q, loc, scale)
    return loc - choose(scale > 0.0, scale, math.nan) * lax.log1p(-probability(q))


__all__ = ["cdf", "logcdf", "logpdf", "logsf", "pdf", "ppf", "sf"]

public_module(globals())
