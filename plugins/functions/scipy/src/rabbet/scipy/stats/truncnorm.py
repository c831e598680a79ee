"""The normal distribution cut off at ``a`` and ``b``, in units of ``scale`` from ``loc``."""

import math

import numpy as np

from rabbet import Array, lax
from rabbet.extend.functions import public_module
from rabbet.scipy.arguments import ArrayLike, elementwise
from rabbet.scipy.special.error_values import log_normal
from rabbet.scipy.special.numerics import choose
from rabbet.scipy.stats.standardization import log_one_less, standardized

# Of the rule of Gauss with ten points on -1 .. 1: the points above 0, and their weights.
POINTS, WEIGHTS = (column[5:].tolist() for column in np.polynomial.legendre.leggauss(10))


def log_mass_of_narrow(width, centre):
    """The logarithm of the probability of a normal variable within half of ``width`` of ``centre``,
    without the difference of nearly equal numbers, for ``width (1 + |centre|) <= 1``.
    """
    half = 0.5 * width
    total = lax.full_like(width, 0)
    for point, weight in zip(POINTS, WEIGHTS, strict=True):
        t = half * point
        total = total + weight * lax.exp(-0.5 * t * t) * lax.cosh(centre * t)
    return lax.log(width) + lax.log(total) - 0.5 * centre * centre - 0.5 * math.log(2.0 * math.pi)


def log_mass(a, b):
    """The logarithm of the probability of a normal variable between ``a`` and ``b``."""
    # By the tail on the side where both limits are, if they are on one.
    right = a > 0.0
    low, high = choose(right, -b, a), choose(right, -a, b)
    width, centre = b - a, 0.5 * (a + b)
    narrow = width * (1.0 + lax.abs(centre)) < 1.0
    one_side = high <= 0.0
    top, bottom = log_normal(choose(one_side, high, -1.0)), log_normal(choose(one_side, low, -2.0))
    tails = top + log_one_less(choose(top > bottom, top - bottom, 1.0))
    left, rest = choose(one_side, -1.0, low), choose(one_side, -1.0, -high)
    middle = lax.log1p(-lax.exp(log_normal(left)) - lax.exp(log_normal(rest)))
    wide = choose(one_side, choose(top > bottom, tails, -math.inf), middle)
    return choose(narrow, log_mass_of_narrow(choose(narrow, width, 1.0), choose(narrow, centre, 0.0)), wide)


def _valid(z, a, b, value, below, above):
    """``value`` between the limits, ``below`` and ``above`` outside, NaN where there is no such
    distribution.
    """
    known = choose(a < b, z, math.nan)
    return choose(known != known, math.nan, z < a, below, z > b, above, value)


def _log_part(z, a, b):
    """The logarithm of the share of the distribution below ``z``."""
    at = lax.clamp(a, choose(z != z, a, z), b)
    inside = (at > a) & (at < b)
    middle = choose(inside, at, choose((a == -math.inf) | (b == math.inf), 0.0, 0.5 * (a + b)))
    whole = log_mass(a, b)
    below, above = log_mass(a, middle) - whole, log_mass(middle, b) - whole
    # Where nearly all is below, what is above has more digits.
    most = below > -0.1
    value = choose(most, lax.log1p(-lax.exp(choose(most, above, -1.0))), below)
    value = choose(z >= b, 0.0, z <= a, -math.inf, value)
    return _valid(z, a, b, value, -math.inf, 0.0)


@elementwise
def logpdf(x: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The logarithm of the density at ``x``.

    >>> round(float(stats.truncnorm.logpdf(0.5, -1.0, 2.0)), 4)
    -0.8438
    """
    z, a, b, scale = standardized("truncnorm.logpdf", x, a, b, loc, scale)
    value = -0.5 * z * z - 0.5 * math.log(2.0 * math.pi) - lax.log(scale) - log_mass(a, b)
    return _valid(z, a, b, value, -math.inf, -math.inf)


@elementwise
def pdf(x: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The density at ``x``.

    >>> round(float(stats.truncnorm.pdf(0.5, -1.0, 2.0)), 4)
    0.4301
    """
    return lax.exp(logpdf(x, a, b, loc, scale))


@elementwise
def logcdf(x: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The logarithm of the probability of at most ``x``.

    >>> round(float(stats.truncnorm.logcdf(0.5, -1.0, 2.0)), 4)
    -0.4294
    """
    z, a, b, scale = standardized("truncnorm.logcdf", x, a, b, loc, scale)
    return _log_part(z, a, b)


@elementwise
def cdf(x: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The probability of at most ``x``.

    >>> round(float(stats.truncnorm.cdf(0.5, -1.0, 2.0)), 4)
    0.6509
    """
    return lax.exp(logcdf(x, a, b, loc, scale))


@elementwise
def logsf(x: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The logarithm of the probability of more than ``x``.

    >>> round(float(stats.truncnorm.logsf(0.5, -1.0, 2.0)), 4)
    -1.0523
    """
    z, a, b, scale = standardized("truncnorm.logsf", x, a, b, loc, scale)
    return _log_part(-z, -b, -a)


@elementwise
def sf(x: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The probability of more than ``x``.

    >>> round(float(stats.truncnorm.sf(0.5, -1.0, 2.0)), 4)
    0.3491
    """
    return lax.exp(logsf(x, a, b, loc, scale))


__all__ = ["cdf", "logcdf", "logpdf", "logsf", "pdf", "sf"]

public_module(globals())
