"""The uniform distribution on ``loc`` to ``loc + scale``."""

import math

from rabbet import Array, lax
from rabbet.extend.functions import public_module
from rabbet.scipy.arguments import ArrayLike, elementwise, real
from rabbet.scipy.special.numerics import choose
from rabbet.scipy.stats.standardization import probability, standardized, within


@elementwise
def logpdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The logarithm of the density at ``x``.

    >>> round(float(stats.uniform.logpdf(0.5, 0, 2)), 4)
    -0.6931
    """
    z, scale = standardized("uniform.logpdf", x, loc, scale)
    return within(z, (z >= 0.0) & (z <= 1.0), -lax.log(scale), -math.inf)


@elementwise
def pdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The density at ``x``.

    >>> round(float(stats.uniform.pdf(0.5)), 4)
    1.0
    """
    z, scale = standardized("uniform.pdf", x, loc, scale)
    return within(z, (z >= 0.0) & (z <= 1.0), 1.0 / scale, 0.0)


@elementwise
def cdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The probability of at most ``x``.

    >>> round(float(stats.uniform.cdf(0.5)), 4)
    0.5
    """
    z, scale = standardized("uniform.cdf", x, loc, scale)
    return choose(z < 0.0, 0.0, z > 1.0, 1.0, z)


@elementwise
def ppf(q: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The quantile: the inverse of ``cdf``; NaN outside 0 to 1.

    >>> round(float(stats.uniform.ppf(0.3)), 4)
    0.3
    """
    q, loc, scale = real("uniform.ppf", q, loc, scale)
    return loc + choose(scale > 0.0, scale, math.nan) * probability(q)


__all__ = ["cdf", "logpdf", "pdf", "ppf"]

public_module(globals())
