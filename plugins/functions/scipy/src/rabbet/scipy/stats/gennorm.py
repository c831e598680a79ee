"""The generalized normal distribution, whose density is like ``exp(-|x| ** beta)``."""

import math

from rabbet import Array, lax
from rabbet.extend.functions import public_module
from rabbet.scipy.arguments import ArrayLike, elementwise, real
from rabbet.scipy.special.numerics import choose, epsilon


def _power(x, beta):
    """``|x| ** beta``, whose derivative at 0 is 0."""
    at_zero = x == 0.0
    return choose(at_zero, 0.0 * beta, lax.pow(choose(at_zero, 1.0, lax.abs(x)), beta))


@elementwise
def logpdf(x: ArrayLike, beta: ArrayLike) -> Array:
    """The logarithm of the density at ``x``.

    >>> round(float(stats.gennorm.logpdf(0.5, 1.5)), 4)
    -0.9444
    """
    x, beta = real("gennorm.logpdf", x, beta)
    beta = choose(beta > 0.0, beta, math.nan)
    size = _power(x, beta)
    return -math.log(2.0) - lax.lgamma(1.0 + 1.0 / beta) - size


@elementwise
def pdf(x: ArrayLike, beta: ArrayLike) -> Array:
    """The density at ``x``.

    >>> round(float(stats.gennorm.pdf(0.5, 1.5)), 4)
    0.3889
    """
    return lax.exp(logpdf(x, beta))


@elementwise
def cdf(x: ArrayLike, beta: ArrayLike) -> Array:
    """The probability of at most ``x``.

    >>> round(float(stats.gennorm.cdf(0.5, 1.5)), 4)
    0.7417
    """
    x, beta = real("gennorm.cdf", x, beta)
    beta = choose(beta > 0.0, beta, math.nan)
    size = _power(x, beta)
    # Of a small power by the density at 0: the power may be 0 where its root is not.
    small = size < 0.1 * epsilon(x)
    tail = 0.5 * lax.igammac(1.0 / beta, choose(small, 1.0, size))
    part = 0.5 * lax.exp(-lax.lgamma(1.0 + 1.0 / beta)) * lax.abs(x)
    tail = choose(small, 0.5 - part, tail)
    return choose(x <= 0.0, tail, 1.0 - tail)


__all__ = ["cdf", "logpdf", "pdf"]

public_module(globals())
