"""Gumbel's distribution of smallest values."""

import math

from rabbet import Array, lax
from rabbet.extend.functions import public_module
from rabbet.scipy.arguments import ArrayLike, elementwise, real
from rabbet.scipy.special.numerics import choose
from rabbet.scipy.stats.standardization import log_one_less, probability, standardized


@elementwise
def logpdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The logarithm of the density at ``x``.

    >>> round(float(stats.gumbel_l.logpdf(0.5)), 4)
    -1.1487
    """
    z, scale = standardized("gumbel_l.logpdf", x, loc, scale)
    return choose(z == math.inf, -math.inf, z - lax.exp(z) - lax.log(scale))


@elementwise
def pdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The density at ``x``.

    >>> round(float(stats.gumbel_l.pdf(0.5)), 4)
    0.317
    """
    return lax.exp(logpdf(x, loc, scale))


@elementwise
def cdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The probability of at most ``x``.

    >>> round(float(stats.gumbel_l.cdf(0.5)), 4)
    0.8077
    """
    z, scale = standardized("gumbel_l.cdf", x, loc, scale)
    return -lax.expm1(-lax.exp(z))


@elementwise
def logcdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The logarithm of the probability of at most ``x``.

    >>> round(float(stats.gumbel_l.logcdf(0.5)), 4)
    -0.2136
    """
    z, scale = standardized("gumbel_l.logcdf", x, loc, scale)
    small = z < -40.0
    return choose(small, z, log_one_less(lax.exp(choose(small, 0.0, z))))


@elementwise
def sf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The probability of more than ``x``.

    >>> round(float(stats.gumbel_l.sf(0.5)), 4)
    0.1923
    """
    z, scale = standardized("gumbel_l.sf", x, loc, scale)
    return lax.exp(-lax.exp(z))


@elementwise
def logsf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The logarithm of the probability of more than ``x``.

    >>> round(float(stats.gumbel_l.logsf(0.5)), 4)
    -1.6487
    """
    z, scale = standardized("gumbel_l.logsf", x, loc, scale)
    return -lax.exp(z)


@elementwise
def ppf(p: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The quantile: the inverse of ``cdf``; NaN outside 0 to 1.

    >>> round(float(stats.gumbel_l.ppf(0.3)), 4)
    -1.0309
    """
    p, loc, scale = real("gumbel_l.ppf", p, loc, scale)
    return loc + choose(scale > 0.0, scale, math.nan) * lax.log(-lax.log1p(-probability(p)))


__all__ = ["cdf", "logcdf", "logpdf", "logsf", "pdf", "ppf", "sf"]

public_module(globals())
