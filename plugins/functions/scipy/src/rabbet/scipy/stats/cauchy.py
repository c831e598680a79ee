"""Cauchy's distribution around ``loc``, half of it within ``scale``."""

import math

from rabbet import Array, lax
from rabbet.extend.functions import public_module
from rabbet.scipy.arguments import ArrayLike, elementwise, real
from rabbet.scipy.special.numerics import choose, cos_pi, sin_pi
from rabbet.scipy.stats.standardization import probability, standardized


def _left(z):
    """The probability of less than ``z``, by an angle that is not a difference."""
    return lax.atan2(lax.full_like(z, 1), -z) * (1.0 / math.pi)


def _log_left(z):
    """The logarithm of ``_left``, which may be too small a number."""
    far = z < -1e10
    tail = choose(far, -math.log(math.pi) - lax.log(choose(far, -z, 1.0)), lax.log(_left(z)))
    return choose(z < 0.0, tail, lax.log1p(-_left(-z)))


@elementwise
def logpdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The logarithm of the density at ``x``.

    >>> round(float(stats.cauchy.logpdf(0.5)), 4)
    -1.3679
    """
    z, scale = standardized("cauchy.logpdf", x, loc, scale)
    far = lax.abs(z) > 1e10  # where the square may be no number
    near = choose(far, 1.0, z)
    value = choose(far, 2.0 * lax.log(choose(far, lax.abs(z), 1.0)), lax.log1p(near * near))
    return -value - math.log(math.pi) - lax.log(scale)


@elementwise
def pdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The density at ``x``.

    >>> round(float(stats.cauchy.pdf(0.5)), 4)
    0.2546
    """
    z, scale = standardized("cauchy.pdf", x, loc, scale)
    return 1.0 / (math.pi * scale * (1.0 + z * z))


@elementwise
def cdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The probability of at most ``x``.

    >>> round(float(stats.cauchy.cdf(0.5)), 4)
    0.6476
    """
    z, scale = standardized("cauchy.cdf", x, loc, scale)
    return _left(z)


@elementwise
def logcdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The logarithm of the probability of at most ``x``.

    >>> round(float(stats.cauchy.logcdf(0.5)), 4)
    -0.4345
    """
    z, scale = standardized("cauchy.logcdf", x, loc, scale)
    return _log_left(z)


@elementwise
def sf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The probability of more than ``x``.

    >>> round(float(stats.cauchy.sf(0.5)), 4)
    0.3524
    """
    z, scale = standardized("cauchy.sf", x, loc, scale)
    return _left(-z)


@elementwise
def logsf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The logarithm of the probability of more than ``x``.

    >>> round(float(stats.cauchy.logsf(0.5)), 4)
    -1.0429
    """
    z, scale = standardized("cauchy.logsf", x, loc, scale)
    return _log_left(-z)


@elementwise
def ppf(q: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The quantile: the inverse of ``cdf``; NaN outside 0 to 1.

    >>> round(float(stats.cauchy.ppf(0.3)), 4)
    -0.7265
    """
    q, loc, scale = real("cauchy.ppf", q, loc, scale)
    q = probability(q)
    return loc - choose(scale > 0.0, scale, math.nan) * (cos_pi(q) / sin_pi(q))


@elementwise
def isf(q: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The inverse of ``sf``; NaN outside 0 to 1.

    >>> round(float(stats.cauchy.isf(0.3)), 4)
    0.7265
    """
    q, loc, scale = real("cauchy.isf", q, loc, scale)
    q = probability(q)
    return loc + choose(scale > 0.0, scale, math.nan) * (cos_pi(q) / sin_pi(q))


__all__ = ["cdf", "isf", "logcdf", "logpdf", "logsf", "pdf", "ppf", "sf"]

public_module(globals())
