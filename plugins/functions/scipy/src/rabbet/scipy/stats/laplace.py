"""Laplace's distribution around ``loc``, with the mean distance ``scale`` from it."""

import math

from rabbet import Array, lax
from rabbet.extend.functions import public_module
from rabbet.scipy.arguments import ArrayLike, elementwise
from rabbet.scipy.special.numerics import choose
from rabbet.scipy.stats.standardization import standardized


@elementwise
def logpdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The logarithm of the density at ``x``.

    >>> round(float(stats.laplace.logpdf(0.5)), 4)
    -1.1931
    """
    z, scale = standardized("laplace.logpdf", x, loc, scale)
    return -lax.abs(z) - math.log(2.0) - lax.log(scale)


@elementwise
def pdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The density at ``x``.

    >>> round(float(stats.laplace.pdf(0.5)), 4)
    0.3033
    """
    return lax.exp(logpdf(x, loc, scale))


@elementwise
def cdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The probability of at most ``x``.

    >>> round(float(stats.laplace.cdf(0.5)), 4)
    0.6967
    """
    z, scale = standardized("laplace.cdf", x, loc, scale)
    half = 0.5 * lax.exp(-lax.abs(z))
    return choose(z <= 0.0, half, 1.0 - half)


__all__ = ["cdf", "logpdf", "pdf"]

public_module(globals())
