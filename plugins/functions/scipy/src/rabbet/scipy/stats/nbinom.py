"""The number of failures before ``n`` successes of the probability ``p``; ``n`` may be any positive
number.
"""

import math

from rabbet import Array, lax
from rabbet.extend.functions import public_module
from rabbet.scipy.arguments import ArrayLike, elementwise
from rabbet.scipy.special.density_values import log_negative_binomials
from rabbet.scipy.special.numerics import choose
from rabbet.scipy.stats.standardization import counted, within


@elementwise
def logpmf(k: ArrayLike, n: ArrayLike, p: ArrayLike, loc: ArrayLike = 0) -> Array:
    """The logarithm of the probability of ``k``.

    >>> round(float(stats.nbinom.logpmf(2.0, 5.0, 0.6)), 4)
    -1.6787
    """
    k, n, p, inside = counted("nbinom.logpmf", k, n, p, loc)
    right = (n > 0.0) & (p > 0.0) & (p <= 1.0)
    j, m, chance = choose(inside, k, 0.0), choose(right, n, 1.0), choose(right, p, 0.5)
    value = log_negative_binomials(j, m, chance)
    return within(choose(right, k, math.nan), inside, value, -math.inf)


@elementwise
def pmf(k: ArrayLike, n: ArrayLike, p: ArrayLike, loc: ArrayLike = 0) -> Array:
    """The probability of ``k``.

    >>> round(float(stats.nbinom.pmf(2.0, 5.0, 0.6)), 4)
    0.1866
    """
    return lax.exp(logpmf(k, n, p, loc))


__all__ = ["logpmf", "pmf"]

public_module(globals())
