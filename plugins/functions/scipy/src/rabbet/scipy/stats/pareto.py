"""Pareto's distribution, from ``loc + scale`` on, with the exponent ``b > 0`` of its tail."""

import math

from rabbet import Array, lax
from rabbet.extend.functions import public_module
from rabbet.scipy.arguments import ArrayLike, elementwise, real
from rabbet.scipy.special.numerics import choose
from rabbet.scipy.stats.standardization import known, log_one_less, probability, standardized, within


def _fallen(b, z):
    """``b log(z)``, 0 at 1 also for an infinite ``b``."""
    endless = (z == 1.0) & (b == math.inf)
    return choose(endless, 0.0, choose(endless, 1.0, b) * lax.log(z))


@elementwise
def logpdf(x: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The logarithm of the density at ``x``.

    >>> round(float(stats.pareto.logpdf(2.5, 2.0)), 4)
    -2.0557
    """
    z, b, scale = standardized("pareto.logpdf", x, b, loc, scale)
    b = choose(b > 0.0, b, math.nan)
    inside = z >= 1.0
    at = choose(inside, z, 1.0)
    return within(known(z, b), inside, lax.log(b) - _fallen(b, at) - lax.log(at) - lax.log(scale), -math.inf)


@elementwise
def pdf(x: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The density at ``x``.

    >>> round(float(stats.pareto.pdf(2.5, 2.0)), 4)
    0.128
    """
    return lax.exp(logpdf(x, b, loc, scale))


@elementwise
def cdf(x: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The probability of at most ``x``.

    >>> round(float(stats.pareto.cdf(2.5, 2.0)), 4)
    0.84
    """
    z, b, scale = standardized("pareto.cdf", x, b, loc, scale)
    b = choose(b > 0.0, b, math.nan)
    inside = z >= 1.0
    return within(known(z, b), inside, -lax.expm1(-_fallen(b, choose(inside, z, 1.0))), 0.0)


@elementwise
def logcdf(x: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The logarithm of the probability of at most ``x``.

    >>> round(float(stats.pareto.logcdf(2.5, 2.0)), 4)
    -0.1744
    """
    z, b, scale = standardized("pareto.logcdf", x, b, loc, scale)
    b = choose(b > 0.0, b, math.nan)
    inside = z >= 1.0
    log = lax.log(choose(inside, z, 1.0))
    above = z > 1.0
    return within(known(z, b), above, log_one_less(choose(above, b * log, 1.0)), -math.inf)


@elementwise
def sf(x: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The probability of more than ``x``.

    >>> round(float(stats.pareto.sf(2.5, 2.0)), 4)
    0.16
    """
    z, b, scale = standardized("pareto.sf", x, b, loc, scale)
    b = choose(b > 0.0, b, math.nan)
    inside = z >= 1.0
    return within(known(z, b), inside, lax.exp(-_fallen(b, choose(inside, z, 1.0))), 1.0)


@elementwise
def logsf(x: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The logarithm of the probability of more than ``x``.

    >>> round(float(stats.pareto.logsf(2.5, 2.0)), 4)
    -1.8326
    """
    z, b, scale = standardized("pareto.logsf", x, b, loc, scale)
    b = choose(b > 0.0, b, math.nan)
    inside = z >= 1.0
    return within(known(z, b), inside, -_fallen(b, choose(inside, z, 1.0)), 0.0)


@elementwise
def ppf(q: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The quantile: the inverse of ``cdf``; NaN outside 0 to 1.

    >>> round(float(stats.pareto.ppf(0.3, 2.0)), 4)
    1.1952
    """
    q, b, loc, scale = real("pareto.ppf", q, b, loc, scale)
    b, scale = choose(b > 0.0, b, math.nan), choose(scale > 0.0, scale, math.nan)
    return loc + scale * lax.exp(-lax.log1p(-probability(q)) / b)


__all__ = ["cdf", "logcdf", "logpdf", "logsf", "pdf", "ppf", "sf"]

public_module(globals())
