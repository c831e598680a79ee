"""The distribution of von Mises on the circle, with the concentration ``kappa >= 0``; periodic in ``x``."""

import math

from rabbet import Array, lax
from rabbet.extend.functions import public_module
from rabbet.scipy.arguments import ArrayLike, elementwise, real
from rabbet.scipy.special.numerics import choose


@elementwise
def logpdf(x: ArrayLike, kappa: ArrayLike) -> Array:
    """The logarithm of the density at ``x``.

    >>> round(float(stats.vonmises.logpdf(0.5, 1.5)), 4)
    -1.0203
    """
    x, kappa = real("vonmises.logpdf", x, kappa)
    kappa = choose(kappa >= 0.0, kappa, math.nan)
    half = lax.sin(0.5 * x)
    return -2.0 * kappa * half * half - lax.log(2.0 * math.pi * lax.bessel_i0e(kappa))


@elementwise
def pdf(x: ArrayLike, kappa: ArrayLike) -> Array:
    """The density at ``x``.

    >>> round(float(stats.vonmises.pdf(0.5, 1.5)), 4)
    0.3605
    """
    return lax.exp(logpdf(x, kappa))


__all__ = ["logpdf", "pdf"]

public_module(globals())
