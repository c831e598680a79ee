"""Dirichlet's distribution of shares that add up to 1, with positive concentrations ``alpha``."""

import math

import rabbet.numpy as rnp
from rabbet import Array, lax
from rabbet.extend.functions import public_module
from rabbet.scipy.arguments import ArrayLike, elementwise, one_dtype
from rabbet.scipy.special.elementary import times_log
from rabbet.scipy.special.numerics import choose, epsilon


@elementwise
def logpdf(x: ArrayLike, alpha: ArrayLike) -> Array:
    """The logarithm of the density at ``x``.

    Args:
      x: shares, of shape ``(K, ...)``, or ``(K - 1, ...)`` without the last one.
      alpha: concentrations, of shape ``(K,)``.

    Returns:
      an array of shape ``x.shape[1:]``; -inf where the shares are negative or do not add up to 1.

    >>> round(float(stats.dirichlet.logpdf(rnp.array([0.2, 0.8]), rnp.array([2.0, 3.0]))), 4)
    0.4292
    """
    x, alpha = one_dtype("dirichlet.logpdf", x, alpha)
    if alpha.ndim != 1 or x.ndim < 1 or x.shape[0] not in (alpha.shape[0], alpha.shape[0] - 1):
        raise ValueError(
            "dirichlet.logpdf: alpha must have one dimension, of a size K, and the first dimension of x the "
            f"size K or K - 1; got the shapes {x.shape} of x and {alpha.shape} of alpha"
        )
    if x.shape[0] == alpha.shape[0] - 1:
        x = rnp.concatenate([x, 1.0 - x.sum(0, keepdims=True)])
    alpha = choose(alpha > 0.0, alpha, math.nan)
    column = rnp.broadcast_to(alpha.reshape((-1,) + (1,) * (x.ndim - 1)), x.shape)
    near = lax.abs(lax.stop_gradient(x).sum(0) - 1.0) < 10.0 * x.shape[0] * epsilon(x)
    inside = near & (x >= 0.0).all(0)
    safe = choose(rnp.broadcast_to(inside, x.shape), x, 0.5)
    value = times_log(column - 1.0, safe).sum(0) + lax.lgamma(alpha.sum()) - lax.lgamma(alpha).sum()
    return choose(value != value, value, inside, value, -math.inf)


@elementwise
def pdf(x: ArrayLike, alpha: ArrayLike) -> Array:
    """The density at ``x``; arguments as for ``logpdf``.

    >>> round(float(stats.dirichlet.pdf(rnp.array([0.2, 0.8]), rnp.array([2.0, 3.0]))), 4)
    1.536
    """
    return lax.exp(logpdf(x, alpha))


__all__ = ["logpdf", "pdf"]

public_module(globals())
