"""The beta distribution on ``loc`` to ``loc + scale``, with the shapes ``a, b > 0``."""

import math

from rabbet import Array, lax
from rabbet.extend.functions import public_module
from rabbet.scipy.arguments import ArrayLike, elementwise
from rabbet.scipy.special.beta_values import incomplete_beta_complements, incomplete_betas
from rabbet.scipy.special.density_values import log_beta_densities
from rabbet.scipy.special.numerics import choose
from rabbet.scipy.stats.standardization import known, log_of, standardized, within


@elementwise
def logpdf(x: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The logarithm of the density at ``x``.

    >>> round(float(stats.beta.logpdf(0.3, 2.0, 3.0)), 4)
    0.5676
    """
    z, a, b, scale = standardized("beta.logpdf", x, a, b, loc, scale)
    a, b = choose(a > 0.0, a, math.nan), choose(b > 0.0, b, math.nan)
    inside = (z >= 0.0) & (z <= 1.0)
    safe = choose(inside, z, 0.5)
    value = log_beta_densities(a, b, safe) - lax.log(scale)
    return within(known(z, a, b), inside, value, -math.inf)


@elementwise
def pdf(x: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The density at ``x``.

    >>> round(float(stats.beta.pdf(0.3, 2.0, 3.0)), 4)
    1.764
    """
    return lax.exp(logpdf(x, a, b, loc, scale))


@elementwise
def cdf(x: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The probability of at most ``x``.

    >>> round(float(stats.beta.cdf(0.3, 2.0, 3.0)), 4)
    0.3483
    """
    z, a, b, scale = standardized("beta.cdf", x, a, b, loc, scale)
    a, b = choose(a > 0.0, a, math.nan), choose(b > 0.0, b, math.nan)
    inside = (z >= 0.0) & (z <= 1.0)
    safe = choose(inside, z, 0.5)
    at = known(z, a, b)
    return choose(at != at, at, z > 1.0, 1.0, z < 0.0, 0.0, incomplete_betas(a, b, safe))


@elementwise
def logcdf(x: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The logarithm of the probability of at most ``x``.

    >>> round(float(stats.beta.logcdf(0.3, 2.0, 3.0)), 4)
    -1.0547
    """
    return log_of(cdf(x, a, b, loc, scale), sf(x, a, b, loc, scale))


@elementwise
def sf(x: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The probability of more than ``x``.

    >>> round(float(stats.beta.sf(0.3, 2.0, 3.0)), 4)
    0.6517
    """
    z, a, b, scale = standardized("beta.sf", x, a, b, loc, scale)
    a, b = choose(a > 0.0, a, math.nan), choose(b > 0.0, b, math.nan)
    inside = (z >= 0.0) & (z <= 1.0)
    safe = choose(inside, z, 0.5)
    value = incomplete_beta_complements(a, b, safe)
    at = known(z, a, b)
    return choose(at != at, at, z > 1.0, 0.0, z < 0.0, 1.0, value)


@elementwise
def logsf(x: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The logarithm of the probability of more than ``x``.

    >>> round(float(stats.beta.logsf(0.3, 2.0, 3.0)), 4)
    -0.4282
    """
    return log_of(sf(x, a, b, loc, scale), cdf(x, a, b, loc, scale))


__all__ = ["cdf", "logcdf", "logpdf", "logsf", "pdf", "sf"]

public_module(globals())
