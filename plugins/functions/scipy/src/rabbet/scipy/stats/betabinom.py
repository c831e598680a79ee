"""The number of successes in ``n`` trials, of a probability that is beta-distributed with the shapes ``a, b >
0``.
"""

import math

from rabbet import Array, lax
from rabbet.extend.functions import public_module
from rabbet.scipy.arguments import ArrayLike, elementwise
from rabbet.scipy.special.density_values import log_beta_binomials
from rabbet.scipy.special.numerics import choose, whole
from rabbet.scipy.stats.standardization import counted, within


@elementwise
def logpmf(k: ArrayLike, n: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0) -> Array:
    """The logarithm of the probability of ``k``.

    >>> round(float(stats.betabinom.logpmf(2.0, 5.0, 2.0, 3.0)), 4)
    -1.4351
    """
    k, n, a, b, valid = counted("betabinom.logpmf", k, n, a, b, loc)
    right = (n >= 0.0) & whole(n) & (a > 0.0) & (b > 0.0)
    inside = valid & (k <= n) & right
    j, m = choose(inside, k, 0.0), choose(right, n, 0.0)
    a, b = choose(right, a, 1.0), choose(right, b, 1.0)
    value = log_beta_binomials(j, m, a, b)
    return within(choose(right, k, math.nan), inside, value, -math.inf)


@elementwise
def pmf(k: ArrayLike, n: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0) -> Array:
    """The probability of ``k``.

    >>> round(float(stats.betabinom.pmf(2.0, 5.0, 2.0, 3.0)), 4)
    0.2381
    """
    return lax.exp(logpmf(k, n, a, b, loc))


__all__ = ["logpmf", "pmf"]

public_module(globals())
