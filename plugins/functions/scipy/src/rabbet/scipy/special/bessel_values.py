"""Bessel functions of the first kind of whole orders, by the recurrence from high orders down (J. C. P.
Miller's method): there it is stable, and what it starts from is scaled away in the end.
"""

import math

import numpy as np

import rabbet.numpy as rnp
from rabbet import lax
from rabbet.scipy.special.numerics import choose

# Beyond LARGE the numbers are scaled down. Below SMALL so many TERMS of the series are exact, and the
# recurrence would overflow and its derivatives lose digits.
LARGE = 1e10
SMALL = 1.0
TERMS = 10


def ordinary_bessels(z, v, start):
    """``J_0`` to ``J_v`` of ``z``, stacked."""
    small = lax.abs(z) < SMALL
    orders = np.arange(v + 1).reshape(-1, *[1] * z.ndim)
    by_steps = recurrence(choose(small, 1.0, z), orders, start)
    return rnp.where(small, series(choose(small, z, 0.0), orders), by_steps)


def recurrence(z, orders, start):
    """``J_(k - 1) = 2 k / z J_k - J_(k + 1)``, and ``J_0 + 2 J_2 + 2 J_4 + ... = 1``."""

    def step(i, state):
        above, here, total, table = state
        k = start - i
        below = 2.0 * lax.convert_element_type(k, z.dtype) / z * here - above
        total = total + below * lax.convert_element_type(2 * ((k - 1) % 2 == 0), z.dtype)
        table = rnp.where(orders == k - 1, below, table)
        scale = choose(lax.abs(below) > LARGE, 1.0 / LARGE, lax.full_like(z, 1))
        return here * scale, below * scale, total * scale, table * scale

    nought = lax.full_like(z, 0)
    table = lax.full((len(orders), *z.shape), 0, z.dtype)
    state = (nought, lax.full_like(z, 1), nought, table)
    _, first, total, table = lax.fori_loop(0, start, step, state)
    return table / (total - first)


def series(z, orders):
    """``(z / 2)^k / k! (1 - (z / 2)^2 / (k + 1) (1 - (z / 2)^2 / (2 (k + 2)) (1 - ...)))``."""
    half = 0.5 * z
    square, rest = half * half, 1.0
    for m in range(TERMS, 0, -1):
        rest = 1.0 - square * (1.0 / (m * (orders + m))).astype(z.dtype) * rest
    leading = [lax.integer_pow(half, int(k)) / math.factorial(int(k)) for k in orders.ravel()]
    return rnp.stack(leading) * rest


__all__ = ["ordinary_bessels"]
