"""The chi-squared distribution with ``df > 0`` degrees of freedom, from ``loc`` on."""

from rabbet import Array
from rabbet.extend.functions import public_module
from rabbet.scipy.arguments import ArrayLike, elementwise, real
from rabbet.scipy.stats import gamma


@elementwise
def logpdf(x: ArrayLike, df: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The logarithm of the density at ``x``.

    >>> round(float(stats.chi2.logpdf(1.5, 3.0)), 4)
    -1.4662
    """
    x, df, loc, scale = real("chi2.logpdf", x, df, loc, scale)
    return gamma.logpdf(x, 0.5 * df, loc, 2.0 * scale)


@elementwise
def pdf(x: ArrayLike, df: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The density at ``x``.

    >>> round(float(stats.chi2.pdf(1.5, 3.0)), 4)
    0.2308
    """
    x, df, loc, scale = real("chi2.pdf", x, df, loc, scale)
    return gamma.pdf(x, 0.5 * df, loc, 2.0 * scale)


@elementwise
def cdf(x: ArrayLike, df: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The probability of at most ``x``.

    >>> round(float(stats.chi2.cdf(1.5, 3.0)), 4)
    0.3177
    """
    x, df, loc, scale = real("chi2.cdf", x, df, loc, scale)
    return gamma.cdf(x, 0.5 * df, loc, 2.0 * scale)


@elementwise
def logcdf(x: ArrayLike, df: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The logarithm of the probability of at most ``x``.

    >>> round(float(stats.chi2.logcdf(1.5, 3.0)), 4)
    -1.1466
    """
    x, df, loc, scale = real("chi2.logcdf", x, df, loc, scale)
    return gamma.logcdf(x, 0.5 * df, loc, 2.0 * scale)


@elementwise
def sf(x: ArrayLike, df: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The probability of more than ``x``.

    >>> round(float(stats.chi2.sf(1.5, 3.0)), 4)
    0.6823
    """
    x, df, loc, scale = real("chi2.sf", x, df, loc, scale)
    return gamma.sf(x, 0.5 * df, loc, 2.0 * scale)


@elementwise
def logsf(x: ArrayLike, df: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The logarithm of the probability of more than ``x``.

    >>> round(float(stats.chi2.logsf(1.5, 3.0)), 4)
    -0.3823
    """
    x, df, loc, scale = real("chi2.logsf", x, df, loc, scale)
    return gamma.logsf(x, 0.5 * df, loc, 2.0 * scale)


__all__ = ["cdf", "logcdf", "logpdf", "logsf", "pdf", "sf"]

public_module(globals())
