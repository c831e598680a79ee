"""Divided differences of functions of numbers, also where arguments are equal or nearly equal.

``f[x, y] = (f(x) - f(y)) / (x - y)`` loses the digits that ``x`` and ``y`` share, and for equal numbers it is
the derivative. Each difference here is computed in all ways there are, with a bound of its rounding, and the
best one is taken.
"""

import functools
import itertools
import math
from typing import Any

import numpy as np

import rabbet.numpy as rnp
from rabbet.scipy.inputs import where
from rabbet.scipy.linalg.matrices import HIGHEST

BY_MEANS = -1  # the choice of a mean of the derivative rather than a quotient


def on_axis(w, p, count):
    """Numbers along axis ``p`` of the last ``count`` axes."""
    lead = w.shape[:-1]
    return w.reshape((*lead, *(1,) * p, w.shape[-1], *(1,) * (count - 1 - p)))


@functools.cache
def nodes(k, q):
    """``(shares, weights)``: the points of a rule for the simplex with ``k + 1`` corners, as shares of these,
    and their weights, which add up to ``1 / k!``. Gauss and Legendre's rule with ``q`` points in each of the
    coordinates in which the simplex is a cube.
    """
    x, w = np.polynomial.legendre.leggauss(q)
    x, w = 0.5 * (x + 1), 0.5 * w
    shares, weights = [], []
    for at in itertools.product(range(q), repeat=k):
        u = x[list(at)]
        s = [1.0, *np.cumprod(u), 0.0]
        shares.append([s[i] - s[i + 1] for i in range(k + 1)])
        weights.append(math.prod(w[list(at)]) * math.prod(u[i] ** (k - 1 - i) for i in range(k)))
    return np.array(shares), np.array(weights)


def pairs(k):
    return list(itertools.combinations(range(k + 1), 2))


def table(values, w, k, choices=None):
    """The divided differences of order ``k`` over all choices of ``k + 1`` of the numbers ``w``.

    Args:
      values: ``values(points, k)``: the derivatives of order ``k`` of the function.
      w: of shape ``(..., n)``, real or complex.
      choices: from another call: how to compute each; the result is linear in the values then.

    Returns:
      ``(table, choices)``: of shape ``(..., n, ..., n)`` with ``k + 1`` axes for the numbers.
    """
    f, error, made = values(w, 0), None, []
    eps = float(rnp.finfo(w.dtype).eps)
    if choices is None:
        error = 4 * eps * rnp.abs(f)
    for order in range(1, k + 1):
        choice = None if choices is None else choices[order - 1]
        f, error, choice = next_order(values, w, f, error, order, choice, eps)
        made.append(choice)
    return f, made


def next_order(values, w, lower, error, k, choice, eps):
    """One order more."""
    x = [on_axis(w, p, k + 1) for p in range(k + 1)]
    shape = (*w.shape[:-1], *(w.shape[-1:] * (k + 1)))
    at = lower.ndim - k  # where the axes of the numbers begin
    choosing = choice is None
    best: Any = None
    worst: Any = None
    if choosing:
        choice = rnp.zeros(shape, "int32")
    for number, (p, q) in enumerate(pairs(k)):
        gap = rnp.broadcast_to(x[q] - x[p], shape)
        none = gap == 0
        quotient = (rnp.expand_dims(lower, at + p) - rnp.expand_dims(lower, at + q)) / rnp.asarray(
            where(none, 1, gap), lower.dtype
        )
        if choosing:
            bound = rnp.expand_dims(error, at + p) + rnp.expand_dims(error, at + q)
            bound = where(none, rnp.inf, bound / rnp.abs(where(none, 1, gap)))
            if best is None:
                best, worst = quotient, bound
                continue
            better = bound < worst
            choice = where(better, number, choice)
            best, worst = where(better, quotient, best), where(better, bound, worst)
        else:
            best = quotient if best is None else where(choice == number, quotient, best)
    if choosing:
        mean, bound = means(values, x, shape, k, None, eps)
        # A mean that differs by more than both are wrong is one over a step of the function.
        alike = rnp.isinf(worst) | (rnp.abs(mean - best) <= 8 * (worst + bound))
        better = ((bound < worst) | rnp.isinf(worst)) & alike
        choice = where(better, BY_MEANS, choice)
        return where(better, mean, best), where(better, bound, worst), choice
    taken = choice == BY_MEANS
    return where(taken, means(values, x, shape, k, taken, eps)[0], best), None, choice


def means(values, x, shape, k, taken, eps):
    """The mean of the derivative of order ``k`` over the simplex of the arguments (C. Hermite and A.
    Genocchi), and a bound of its error: how much a rule with fewer points differs.

    Args:
      taken: where the mean counts; elsewhere it is that at the first argument.
    """
    many = {1: 5, 2: 4}.get(k, 3)
    (shares, weights), (more, other) = (nodes(k, q) for q in (many, many - 1))
    dtype = x[0].dtype
    spread = [rnp.broadcast_to(corner, shape) for corner in x]
    if taken is not None:
        spread = [where(taken, corner, spread[0]) for corner in spread]
    # The points are an axis behind all others.
    corners = rnp.stack(spread, -1)
    points = rnp.matmul(corners, rnp.asarray(np.concatenate([shares, more]).T, dtype), precision=HIGHEST)
    found = values(points, k)
    split = len(weights)

    def mean(found, weights):
        return rnp.sum(found * rnp.broadcast_to(rnp.asarray(weights, found.dtype), found.shape), -1)

    high = mean(found[..., :split], weights)
    if taken is not None:
        return high, None
    size = mean(rnp.abs(found[..., :split]), weights)
    return high, rnp.abs(high - mean(found[..., split:], other)) + 4 * eps * size
