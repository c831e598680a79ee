"""The number of successes in ``n`` trials of the probability ``p``."""

import math

from rabbet import Array, lax
from rabbet.extend.functions import public_module
from rabbet.scipy.arguments import ArrayLike, elementwise
from rabbet.scipy.special.density_values import log_binomials
from rabbet.scipy.special.numerics import choose, whole
from rabbet.scipy.stats.standardization import counted, known, within


@elementwise
def logpmf(k: ArrayLike, n: ArrayLike, p: ArrayLike, loc: ArrayLike = 0) -> Array:
    """The logarithm of the probability of ``k``.

    >>> round(float(stats.binom.logpmf(2.0, 5.0, 0.3)), 4)
    -1.1754
    """
    k, n, p, valid = counted("binom.logpmf", k, n, p, loc)
    right = (n >= 0.0) & whole(n) & (p >= 0.0) & (p <= 1.0)
    inside = valid & (k <= n) & right
    j, m = choose(inside, k, 0.0), choose(right, n, 0.0)
    value = log_binomials(j, m, choose(right, p, 0.5))
    return within(choose(right, known(k, n, p), math.nan), inside, value, -math.inf)


@elementwise
def pmf(k: ArrayLike, n: ArrayLike, p: ArrayLike, loc: ArrayLike = 0) -> Array:
    """The probability of ``k``.

    >>> round(float(stats.binom.pmf(2.0, 5.0, 0.3)), 4)
    0.3087
    """
    return lax.exp(logpmf(k, n, p, loc))


__all__ = ["logpmf", "pmf"]

public_module(globals())
