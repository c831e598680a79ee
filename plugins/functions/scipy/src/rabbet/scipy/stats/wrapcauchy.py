"""Cauchy's distribution wrapped around the circle, on 0 to 2 pi, with ``0 < c < 1``."""

import math

from rabbet import Array, lax
from rabbet.extend.functions import public_module
from rabbet.scipy.arguments import ArrayLike, elementwise, real
from rabbet.scipy.special.numerics import choose
from rabbet.scipy.stats.standardization import known, within


@elementwise
def logpdf(x: ArrayLike, c: ArrayLike) -> Array:
    """The logarithm of the density at ``x``.

    >>> round(float(stats.wrapcauchy.logpdf(0.5, 0.4)), 4)
    -1.2312
    """
    x, c = real("wrapcauchy.logpdf", x, c)
    c = choose((c > 0.0) & (c < 1.0), c, math.nan)
    half = lax.sin(0.5 * x)
    rest = (1.0 - c) * (1.0 - c) + 4.0 * c * half * half
    inside = (x >= 0.0) & (x <= 2.0 * math.pi)
    value = lax.log1p(-c) + lax.log1p(c) - math.log(2.0 * math.pi) - lax.log(rest)
    return within(known(x, c), inside, value, -math.inf)


@elementwise
def pdf(x: ArrayLike, c: ArrayLike) -> Array:
    """The density at ``x``.

    >>> round(float(stats.wrapcauchy.pdf(0.5, 0.4)), 4)
    0.2919
    """
    return lax.exp(logpdf(x, c))


__all__ = ["logpdf", "pdf"]

public_module(globals())
