"""The numbers of ``n`` trials that have each of K outcomes, which have the probabilities ``p``."""

import math

import rabbet.numpy as rnp
from rabbet import Array, lax
from rabbet.extend.functions import public_module
from rabbet.scipy.arguments import ArrayLike, elementwise, one_dtype
from rabbet.scipy.special.elementary import times_log
from rabbet.scipy.special.numerics import choose, whole


@elementwise
def logpmf(x: ArrayLike, n: ArrayLike, p: ArrayLike) -> Array:
    """The logarithm of the probability of ``x``.

    Args:
      x: numbers, of shape ``(..., K)``.
      n: their sum, an array that broadcasts with ``x.shape[:-1]``.
      p: probabilities, of shape ``(..., K)``. Their sum is not checked.

    Returns:
      an array of the broadcast shape without its last dimension; -inf where ``x`` does not add up to ``n``.

    >>> round(float(stats.multinomial.logpmf(rnp.array([1, 2]), 3, rnp.array([0.25, 0.75]))), 4)
    -0.863
    """
    x, n, p = one_dtype("multinomial.logpmf", x, n, p)
    x, p = rnp.broadcast_arrays(x, p)
    valid = ((x >= 0.0) & whole(x)).all(-1)
    inside = valid & (x.sum(-1) == n)
    n = rnp.broadcast_to(n, inside.shape)
    safe = choose(rnp.broadcast_to(valid[..., None], x.shape), x, 0.0)
    chance = choose(p >= 0.0, p, math.nan)
    value = lax.lgamma(n + 1.0) + rnp.sum(times_log(safe, chance) - lax.lgamma(safe + 1.0), -1)
    return choose(value != value, value, inside, value, -math.inf)


@elementwise
def pmf(x: ArrayLike, n: ArrayLike, p: ArrayLike) -> Array:
    """The probability of ``x``; arguments as for ``logpmf``.

    >>> round(float(stats.multinomial.pmf(rnp.array([1, 2]), 3, rnp.array([0.25, 0.75]))), 4)
    0.4219
    """
    return lax.exp(logpmf(x, n, p))


__all__ = ["logpmf", "pmf"]

public_module(globals())
