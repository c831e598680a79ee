"""The logistic distribution around ``loc``."""

import math

from rabbet import Array, lax
from rabbet.extend.functions import public_module
from rabbet.scipy.arguments import ArrayLike, elementwise, real
from rabbet.scipy.special.elementary import logit
from rabbet.scipy.special.numerics import choose
from rabbet.scipy.special.primitive_factory import define
from rabbet.scipy.stats.standardization import standardized

log_density = define(
    "logistic_log_density", "z", lambda z: -lax.abs(z) - 2.0 * lax.log1p(lax.exp(-lax.abs(z))),
    [lambda z, out: -half_tanh(z)], "log of the density of the logistic distribution",
)  # fmt: skip
half_tanh = define(
    "half_tanh", "z", lambda z: lax.tanh(0.5 * z), [lambda z, out: 2.0 * lax.exp(log_density(z))],
    "tanh(z / 2)",
)  # fmt: skip


@elementwise
def logpdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The logarithm of the density at ``x``.

    >>> round(float(stats.logistic.logpdf(0.5)), 4)
    -1.4482
    """
    z, scale = standardized("logistic.logpdf", x, loc, scale)
    return log_density(z) - lax.log(scale)


@elementwise
def pdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The density at ``x``.

    >>> round(float(stats.logistic.pdf(0.5)), 4)
    0.235
    """
    return lax.exp(logpdf(x, loc, scale))


@elementwise
def cdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The probability of at most ``x``.

    >>> round(float(stats.logistic.cdf(0.5)), 4)
    0.6225
    """
    z, scale = standardized("logistic.cdf", x, loc, scale)
    return lax.logistic(z)


@elementwise
def sf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The probability of more than ``x``.

    >>> round(float(stats.logistic.sf(0.5)), 4)
    0.3775
    """
    z, scale = standardized("logistic.sf", x, loc, scale)
    return lax.logistic(-z)


@elementwise
def ppf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The quantile: the inverse of ``cdf``; NaN outside 0 to 1.

    >>> round(float(stats.logistic.ppf(0.3)), 4)
    -0.8473
    """
    x, loc, scale = real("logistic.ppf", x, loc, scale)
    return loc + choose(scale > 0.0, scale, math.nan) * logit(x)


@elementwise
def isf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The inverse of ``sf``; NaN outside 0 to 1.

    >>> round(float(stats.logistic.isf(0.3)), 4)
    0.8473
    """
    x, loc, scale = real("logistic.isf", x, loc, scale)
    return loc - choose(scale > 0.0, scale, math.nan) * logit(x)


__all__ = ["cdf", "isf", "logpdf", "pdf", "ppf", "sf"]

public_module(globals())
