"""The distribution of 0 and 1, of which 1 has the probability ``p``."""

import math

from rabbet import Array, lax
from rabbet.extend.functions import public_module
from rabbet.scipy.arguments import ArrayLike, elementwise, real
from rabbet.scipy.special.elementary import times_log, times_log1p
from rabbet.scipy.special.numerics import choose
from rabbet.scipy.stats.standardization import counted, known, probability, within


@elementwise
def logpmf(k: ArrayLike, p: ArrayLike, loc: ArrayLike = 0) -> Array:
    """The logarithm of the probability of ``k``.

    >>> round(float(stats.bernoulli.logpmf(1.0, 0.3)), 4)
    -1.204
    """
    k, p, valid = counted("bernoulli.logpmf", k, p, loc)
    p = choose((p >= 0.0) & (p <= 1.0), p, math.nan)
    inside = valid & (k <= 1.0)
    one = choose(inside, k, 0.0)
    value = times_log(one, p) + times_log1p(1.0 - one, -p)
    return within(known(k, p), inside, value, -math.inf)


@elementwise
def pmf(k: ArrayLike, p: ArrayLike, loc: ArrayLike = 0) -> Array:
    """The probability of ``k``.

    >>> round(float(stats.bernoulli.pmf(1.0, 0.3)), 4)
    0.3
    """
    return lax.exp(logpmf(k, p, loc))


@elementwise
def cdf(k: ArrayLike, p: ArrayLike) -> Array:
    """The probability of at most ``k``.

    >>> round(float(stats.bernoulli.cdf(1.0, 0.3)), 4)
    1.0
    """
    k, p = real("bernoulli.cdf", k, p)
    p = choose((p >= 0.0) & (p <= 1.0), p, math.nan)
    return within(known(k, p), k >= 1.0, 1.0, choose(k < 0.0, 0.0, 1.0 - p))


@elementwise
def ppf(q: ArrayLike, p: ArrayLike) -> Array:
    """The quantile: the inverse of ``cdf``; NaN outside 0 to 1.

    >>> round(float(stats.bernoulli.ppf(0.3, 0.3)), 4)
    0.0
    """
    q, p = real("bernoulli.ppf", q, p)
    p = choose((p >= 0.0) & (p <= 1.0), p, math.nan)
    value = choose(q == 0.0, -1.0, q <= 1.0 - p, 0.0, 1.0 + 0.0 * q)
    return probability(q) * 0.0 + choose(p != p, p, value)


__all__ = ["cdf", "logpmf", "pmf", "ppf"]

public_module(globals())
