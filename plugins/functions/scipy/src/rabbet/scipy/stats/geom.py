"""The number of trials of the probability ``p`` up to the first success, from 1 on."""

import math

from rabbet import Array, lax
from rabbet.extend.functions import public_module
from rabbet.scipy.arguments import ArrayLike, elementwise
from rabbet.scipy.special.elementary import times_log1p
from rabbet.scipy.special.numerics import choose
from rabbet.scipy.stats.standardization import counted, within


@elementwise
def logpmf(k: ArrayLike, p: ArrayLike, loc: ArrayLike = 0) -> Array:
    """The logarithm of the probability of ``k``.

    >>> round(float(stats.geom.logpmf(2.0, 0.3)), 4)
    -1.5606
    """
    k, p, valid = counted("geom.logpmf", k, p, loc)
    right = (p > 0.0) & (p <= 1.0)
    inside = valid & (k >= 1.0)
    j, chance = choose(inside, k, 1.0), choose(right, p, 0.5)
    value = times_log1p(j - 1.0, -chance) + lax.log(chance)
    return within(choose(right, k, math.nan), inside, value, -math.inf)


@elementwise
def pmf(k: ArrayLike, p: ArrayLike, loc: ArrayLike = 0) -> Array:
    """The probability of ``k``.

    >>> round(float(stats.geom.pmf(2.0, 0.3)), 4)
    0.21
    """
    return lax.exp(logpmf(k, p, loc))


__all__ = ["logpmf", "pmf"]

public_module(globals())
