"""What algorithms of special functions are built of: polynomials, series of Chebyshev, exact angles and
powers.
"""

import math

import numpy as np

from rabbet import dtypes, lax

# B(2k) / (2k (2k - 1)), of the series of Stirling's formula (DLMF 5.11.1).
STIRLING = (
    1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156, -3617 / 122400, 43867 / 244188,
)  # fmt: skip
STIRLING_FROM = 10.0


def is_double(x):
    """Whether ``x`` has double precision."""
    return dtypes.itemsize_bits(x.dtype) in ((64,) if dtypes.kind(x.dtype) == "f" else (128,))


def epsilon(x):
    """The distance from 1 to the next float."""
    return float(np.finfo(np.dtype(x.dtype)).eps)


def largest(x):
    """The largest number of the dtype."""
    return float(np.finfo(np.dtype(x.dtype)).max)


def smallest(x):
    """The smallest normal number of the dtype."""
    return float(np.finfo(np.dtype(x.dtype)).tiny)


def polynomial(x, coefficients):
    """The polynomial with these coefficients, the constant one first, by Horner's scheme."""
    total = coefficients[-1] + 0.0 * x
    for c in coefficients[-2::-1]:
        total = total * x + c
    return total


def chebyshev(x, table, low, high):
    """The sum of ``c[k] T_k`` at ``x`` in ``low .. high``, by Clenshaw's recurrence; what is outside is taken
    for the nearer end. Coefficients that do not count in the precision of ``x`` are left out.
    """
    t = lax.clamp(-1.0, (x - low) * (2.0 / (high - low)) - 1.0, 1.0)
    least = 0.05 * epsilon(x) * max(abs(c) for c in table)
    last = max(k for k, c in enumerate(table) if abs(c) > least)
    double, one, two = 2.0 * t, lax.full_like(t, table[last]), lax.full_like(t, 0)
    for c in table[last - 1 : 0 : -1]:
        one, two = double * one - two + c, one
    return t * one - two + table[0]


def choose(*cases):
    """The value of the first condition that holds: ``choose(condition, value, ..., otherwise)``. Of the
    values, which are arrays of one type or numbers, one is an array at least.
    """
    *pairs, out = cases
    like = next(x for x in (*pairs[1::2], out) if hasattr(x, "aval"))
    out = out if hasattr(out, "aval") else lax.full_like(like, out)
    for condition, value in reversed(list(zip(pairs[::2], pairs[1::2], strict=True))):
        out = lax.select(condition, value if hasattr(value, "aval") else lax.full_like(like, value), out)
    return out


def whole(x):
    """Whether numbers are whole."""
    return x == lax.floor(x)


def nearest(x):
    """The nearest whole number, the even one of two."""
    return lax.round(x, lax.RoundingMethod.TO_NEAREST_EVEN)


def sin_pi(x):
    """``sin(pi x)``, exact in its zeros."""
    r = x - 2.0 * nearest(0.5 * x)
    folded = choose(lax.abs(r) > 0.5, lax.sign(r) * (1.0 - lax.abs(r)), r)
    return lax.sin(math.pi * folded)


def cos_pi(x):
    """``cos(pi x)``, exact in its zeros."""
    return sin_pi(0.5 - lax.abs(x - 2.0 * nearest(0.5 * x)))


def exp_square(x, factor):
    """``exp(factor x ** 2)`` for a power of two with a sign, without the error of the square: ``x`` is split
    into a short number, whose square is exact, and a small one.
    """
    x = lax.clamp(-256.0, x, 256.0)
    short = nearest(16.0 * x) * 0.0625
    return lax.exp(factor * short * short) * lax.exp(factor * (x - short) * (x + short))


def stirling_error(x):
    """``log gamma(x)`` less Stirling's ``(x - 1/2) log x - x + log(2 pi) / 2``, for ``x >=
    STIRLING_FROM``.
    """
    w = 1.0 / x
    return w * polynomial(w * w, STIRLING if is_double(x) else STIRLING[:4])


def x_log(x, value):
    """``x * value``, 0 where ``x`` is 0 also if the logarithm ``value`` is infinite."""
    return choose(x == 0.0, 0.0, x * value)


__all__ = [
    "STIRLING_FROM",
    "chebyshev",
    "choose",
    "cos_pi",
    "epsilon",
    "exp_square",
    "is_double",
    "largest",
    "nearest",
    "polynomial",
    "sin_pi",
    "smallest",
    "stirling_error",
    "whole",
    "x_log",
]
