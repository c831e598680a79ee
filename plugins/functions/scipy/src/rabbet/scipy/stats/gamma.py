"""The gamma distribution from ``loc`` on, with the shape ``a > 0``."""

import math

from rabbet import Array, lax
from rabbet.extend.functions import public_module
from rabbet.scipy.arguments import ArrayLike, elementwise
from rabbet.scipy.special.density_values import log_gamma_densities
from rabbet.scipy.special.numerics import choose
from rabbet.scipy.stats.standardization import known, log_of, standardized, within


def _at_infinity(a, z, value, limit):
    """``value``, and the limit for every shape beyond all numbers."""
    return choose((z == math.inf) & (a > 0.0), limit, value)


@elementwise
def logpdf(x: ArrayLike, a: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The logarithm of the density at ``x``.

    >>> round(float(stats.gamma.logpdf(1.5, 2.0)), 4)
    -1.0945
    """
    z, a, scale = standardized("gamma.logpdf", x, a, loc, scale)
    a = choose(a > 0.0, a, math.nan)
    inside = z >= 0.0
    safe = choose(inside, z, 1.0)
    value = log_gamma_densities(a, safe) - lax.log(scale)
    return within(known(z, a), inside, value, -math.inf)


@elementwise
def pdf(x: ArrayLike, a: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The density at ``x``.

    >>> round(float(stats.gamma.pdf(1.5, 2.0)), 4)
    0.3347
    """
    return lax.exp(logpdf(x, a, loc, scale))


@elementwise
def cdf(x: ArrayLike, a: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The probability of at most ``x``.

    >>> round(float(stats.gamma.cdf(1.5, 2.0)), 4)
    0.4422
    """
    z, a, scale = standardized("gamma.cdf", x, a, loc, scale)
    a = choose(a > 0.0, a, math.nan)
    inside = z >= 0.0
    safe = choose(inside, z, 1.0)
    return within(known(z, a), inside, _at_infinity(a, z, lax.igamma(a, safe), 1.0), 0.0)


@elementwise
def logcdf(x: ArrayLike, a: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The logarithm of the probability of at most ``x``.

    >>> round(float(stats.gamma.logcdf(1.5, 2.0)), 4)
    -0.8161
    """
    return log_of(cdf(x, a, loc, scale), sf(x, a, loc, scale))


@elementwise
def sf(x: ArrayLike, a: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The probability of more than ``x``.

    >>> round(float(stats.gamma.sf(1.5, 2.0)), 4)
    0.5578
    """
    z, a, scale = standardized("gamma.sf", x, a, loc, scale)
    a = choose(a > 0.0, a, math.nan)
    inside = z >= 0.0
    safe = choose(inside, z, 1.0)
    return within(known(z, a), inside, _at_infinity(a, z, lax.igammac(a, safe), 0.0), 1.0)


@elementwise
def logsf(x: ArrayLike, a: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The logarithm of the probability of more than ``x``.

    >>> round(float(stats.gamma.logsf(1.5, 2.0)), 4)
    -0.5837
    """
    return log_of(sf(x, a, loc, scale), cdf(x, a, loc, scale))


__all__ = ["cdf", "logcdf", "logpdf", "logsf", "pdf", "sf"]

public_module(globals())
