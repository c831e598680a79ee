"""Gumbel's distribution of largest values."""

import math

from rabbet import Array, lax
from rabbet.extend.functions import public_module
from rabbet.scipy.arguments import ArrayLike, elementwise, real
from rabbet.scipy.special.numerics import choose
from rabbet.scipy.stats.standardization import log_one_less, probability, standardized


@elementwise
def logpdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The logarithm of the density at ``x``.

    >>> round(float(stats.gumbel_r.logpdf(0.5)), 4)
    -1.1065
    """
    z, scale = standardized("gumbel_r.logpdf", x, loc, scale)
    return choose(z == -math.inf, -math.inf, -z - lax.exp(-z) - lax.log(scale))


@elementwise
def pdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The density at ``x``.

    >>> round(float(stats.gumbel_r.pdf(0.5)), 4)
    0.3307
    """
    return lax.exp(logpdf(x, loc, scale))


@elementwise
def cdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The probability of at most ``x``.

    >>> round(float(stats.gumbel_r.cdf(0.5)), 4)
    0.5452
    """
    z, scale = standardized("gumbel_r.cdf", x, loc, scale)
    return lax.exp(-lax.exp(-z))


@elementwise
def logcdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The logarithm of the probability of at most ``x``.

    >>> round(float(stats.gumbel_r.logcdf(0.5)), 4)
    -0.6065
    """
    z, scale = standardized("gumbel_r.logcdf", x, loc, scale)
    return -lax.exp(-z)


@elementwise
def sf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The probability of more than ``x``.

    >>> round(float(stats.gumbel_r.sf(0.5)), 4)
    0.4548
    """
    z, scale = standardized("gumbel_r.sf", x, loc, scale)
    return -lax.expm1(-lax.exp(-z))


@elementwise
def logsf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The logarithm of the probability of more than ``x``.

    >>> round(float(stats.gumbel_r.logsf(0.5)), 4)
    -0.788
    """
    z, scale = standardized("gumbel_r.logsf", x, loc, scale)
    large = z > 40.0
    return choose(large, -z, log_one_less(lax.exp(-choose(large, 0.0, z))))


@elementwise
def ppf(p: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The quantile: the inverse of ``cdf``; NaN outside 0 to 1.

    >>> round(float(stats.gumbel_r.ppf(0.3)), 4)
    -0.1856
    """
    p, loc, scale = real("gumbel_r.ppf", p, loc, scale)
    return loc - choose(scale > 0.0, scale, math.nan) * lax.log(-lax.log(probability(p)))


__all__ = ["cdf", "logcdf", "logpdf", "logsf", "pdf", "ppf", "sf"]

public_module(globals())
