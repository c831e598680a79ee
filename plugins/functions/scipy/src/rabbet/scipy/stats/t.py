"""Student's distribution with ``df > 0`` degrees of freedom; with infinitely many the normal one."""

import math

from rabbet import Array, lax
from rabbet.extend.functions import public_module
from rabbet.scipy.arguments import ArrayLike, elementwise
from rabbet.scipy.special.beta_values import log_betas
from rabbet.scipy.special.numerics import choose, epsilon, smallest
from rabbet.scipy.stats.standardization import standardized


@elementwise
def logpdf(x: ArrayLike, df: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The logarithm of the density at ``x``.

    >>> round(float(stats.t.logpdf(0.5, 3.0)), 4)
    -1.161
    """
    z, df, scale = standardized("t.logpdf", x, df, loc, scale)
    df = choose(df > 0.0, df, math.nan)
    endless = df == math.inf
    free = choose(endless, 1.0, df)
    least = 4.0 * smallest(free)
    half = 0.5 * lax.max(free, least)
    log = lax.log(free)
    # Of the least B(1/2, df / 2) is 2 / df.
    whole = choose(free < least, log - math.log(2.0), -log_betas(lax.full_like(free, 0.5), half))
    value = whole - 0.5 * log
    # Far out the square may be no number, and what is added to it is lost.
    far = lax.abs(z) > lax.sqrt(free) * (1.0 / epsilon(z))
    near, beyond = choose(far, 1.0, z), choose(far, lax.abs(z), 1.0)
    bend = choose(far, 2.0 * lax.log(beyond) - log, lax.log1p(near * near / free))
    # Of very many degrees of freedom the quotient may be no number.
    flat = near * near < 0.1 * epsilon(z) * free
    value = value - choose(
        flat & ~far,
        0.5 * near * near * (1.0 + 1.0 / free),
        0.5 * (free + 1.0) * choose(flat & ~far, 0.0, bend),
    )
    normal = -0.5 * z * z - 0.5 * math.log(2.0 * math.pi)
    return choose(endless, normal, value) - lax.log(scale)


@elementwise
def pdf(x: ArrayLike, df: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """The density at ``x``.

    >>> round(float(stats.t.pdf(0.5, 3.0)), 4)
    0.3132
    """
    return lax.exp(logpdf(x, df, loc, scale))


__all__ = ["logpdf", "pdf"]

public_module(globals())
