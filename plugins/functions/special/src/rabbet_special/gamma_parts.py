"""Pieces of the incomplete gamma and beta functions, without cancellation for large arguments.

Powers and factorials of large numbers are differences of large logarithms. C. Loader ("Fast and accurate
computation of binomial probabilities", 2000) writes them as a distance from the saddle point and the error
of Stirling's formula, both small and each computed accurately. Temme's expansion, uniform in both
arguments, stands in NIST DLMF 8.12.
"""

import builtins
import functools
import math
from fractions import Fraction

import numpy as np
from rabbet import lax
from rabbet.extend.rules import to_dtype
from rabbet.extend.transform import typeof
from rabbet.lax import abs, add, div, floor, log, log1p, min, mul, sin, sqrt, sub

from rabbet_special.numerics import full_like, is_double, largest, polynomial

# The series of Stirling's formula for log gamma, DLMF 5.11.1: coefficients of z ** -1, z ** -3, ...
STIRLING = (
    Fraction(1, 12), Fraction(-1, 360), Fraction(1, 1260), Fraction(-1, 1680), Fraction(1, 1188),
    Fraction(-691, 360360), Fraction(1, 156), Fraction(-3617, 122400),
)  # fmt: skip

EULER = 0.57721566490153286061

# Where Temme's expansion is used: a from here on, and |x / a - 1| up to there.
TEMME_FROM = 20.0
TEMME_NEAR = 0.3
_LARGEST_ETA = 0.34  # at x / a = 1 - TEMME_NEAR


def near_distance(u):
    """``u - log(1 + u)`` for ``|u| <= 1/2``, accurate near 0.

    XLA's ``log_plus_one`` loses two digits between -0.45 and -0.3 in double precision, so it is not used.
    """
    # log(1 + u) = 2 artanh(t), of which the first term is taken together with u.
    t = div(u, add(u, 2.0))
    squared = mul(t, t)
    terms = [2.0 / (2 * k + 3) for k in range(17 if is_double(u) else 8)]
    return mul(t, sub(u, mul(squared, polynomial(squared, terms))))


def weighted_distance(weight, off, ratio):
    """``weight (u - log(1 + u))`` where ``off`` is ``weight u``, and ``ratio`` is ``1 + u`` and known by
    itself.
    """
    u = div(off, weight)
    near = lax.lt(abs(u), 0.5)
    large = lax.select_n(near, min(ratio, largest(ratio)), 1.0)
    far = sub(off, mul(weight, log(large)))
    return lax.select_n(near, far, mul(weight, near_distance(lax.select_n(near, 0.0, u))))


def inverse_factorial(a):
    """``(error, root)`` with ``a ** a exp(-a) / gamma(a + 1) == exp(-error) / root``, for ``a > 0``.

    From 1 on the root is Stirling's formula and the error its own; below, the root is 1.
    """
    small = lax.lt(a, 1.0)
    error = stirling_error(add(a, lax.select_n(small, 0.0, full_like(a, 1))))
    below = sub(mul(add(a, 0.5), log1p(a)), mul(a, log(a)))
    below = add(below, 0.5 * math.log(2.0 * math.pi) - 1.0)
    root = lax.select_n(small, mul(sqrt(a), math.sqrt(2.0 * math.pi)), 1.0)
    return lax.select_n(small, error, add(error, below)), root


def stirling_error(a):
    """``log gamma(a)`` less Stirling's ``(a - 1/2) log a - a + log(2 pi) / 2``, for ``a >= 1``.

    The asymptotic series at ``a + n``, brought back by the recurrence of gamma.
    """
    n = 10 if is_double(a) else 3
    a = min(a, 1e30)  # beyond, where the quotient below would be lost, it is 0 all the same
    z = add(a, float(n))
    ratios = None
    for k in range(n):
        ratio = div(z, add(a, float(k)) if k else a)
        ratios = ratio if ratios is None else mul(ratios, ratio)
    inverse = div(1.0, z)
    terms = [float(c) for c in STIRLING[: 8 if is_double(a) else 4]]
    series = mul(inverse, polynomial(mul(inverse, inverse), terms))
    back = sub(mul(sub(a, 0.5), log1p(div(float(n), a))), float(n))
    assert ratios is not None  # n is at least 1
    return add(series, add(back, log(ratios)))


# ------------------------------------------------------------------------------------------------ log gamma
def log_gamma(x, rough=None):
    """``log |gamma(x)|``, in double precision mended from XLA's ``rough`` approximation, which loses digits
    around its zeros at 1 and 2 and takes denormal numbers for 0.

    Up to 7/2 by DLMF 5.7.3, the series in the distance ``z`` of ``x + n`` from 2, and the recurrence
    ``log gamma(x + 1) = log gamma(x) + log x``. In single precision also down to -10.5, where the last zeros
    are that a float can tell from the poles beside them, and elsewhere by Stirling's formula (5.11.1) and the
    reflection (5.5.3).
    """
    nought, one = full_like(x, 0), full_like(x, 1)
    parts = (
        # up to, z, what to take the logarithm of, its sign
        (0.5, x, mul(x, add(x, 1.0)), -1.0),
        (1.5, sub(x, 1.0), x, -1.0),
        (2.5, sub(x, 2.0), one, -1.0),
        (3.5, sub(x, 3.0), sub(x, 1.0), 1.0),
    )
    near = lax.bitwise_and(lax.gt(x, nought), lax.lt(x, parts[-1][0]))
    z, factor, sign = nought, one, one
    for limit, *row in reversed(parts):
        inside = lax.bitwise_and(near, lax.lt(x, limit))
        z, factor = (lax.select_n(inside, a, b) for a, b in zip((z, factor), row, strict=False))
        sign = lax.select_n(inside, sign, full_like(x, row[-1]))
    if not is_double(x):
        below = lax.bitwise_and(lax.le(x, nought), lax.gt(x, -BELOW))
        near = lax.bitwise_or(near, below)
        steps = floor(sub(0.5, x))
        z = lax.select_n(below, z, add(x, steps))
        factor = lax.select_n(below, factor, abs(_rising(x, steps)))
        sign = lax.select_n(below, sign, full_like(x, -1))
    series = mul(z, polynomial(z, log_gamma_row(26 if is_double(x) else 12)))
    elsewhere = rough if is_double(x) else _log_gamma_far(x)
    out = lax.select_n(near, elsewhere, add(series, mul(sign, log(factor))))
    return _log_gamma_of_denormals(x, out)


BELOW = 10.5


def _rising(x, steps):
    """``x (x + 1) ... (x + steps + 1)``, for up to 10 steps."""
    product = mul(x, add(x, 1.0))
    for k in range(2, int(BELOW + 0.5) + 2):
        product = mul(product, lax.select_n(lax.gt(steps, k - 1.5), full_like(x, 1), add(x, float(k))))
    return product


def _log_gamma_far(x):
    """``log |gamma(x)|`` in single precision for large ``|x|``; NaN for NaN."""
    # From 2 ** 23 on all floats are whole, and those below zero poles.
    at = min(abs(x), lax.select_n(lax.lt(x, 0.0), full_like(x, largest(x)), full_like(x, 2**24)))
    logs = log(at)
    inverse = div(1.0, at)
    error = mul(inverse, polynomial(mul(inverse, inverse), [float(c) for c in STIRLING[:5]]))
    error = add(error, 0.5 * math.log(2.0 * math.pi))
    line, half = mul(at, sub(logs, 1.0)), mul(logs, 0.5)
    part = sub(at, floor(at))
    sine = sin(mul(min(part, sub(1.0, part)), math.pi))
    # log gamma(-a) = log(pi / sin(pi a)) - log a - log gamma(a)
    reflected = sub(sub(log(div(math.pi, sine)), line), add(half, error))
    return lax.select_n(lax.lt(x, 0.0), add(sub(line, half), error), reflected)


def _log_gamma_of_denormals(x, out):
    """``-log |x|`` of denormal numbers, which arithmetic takes for 0, from their bits; else ``out``."""
    words, fraction, lowest = (np.int64, 52, -1074) if is_double(x) else (np.int32, 23, -149)
    bits = lax.bitcast_convert_type(x, np.dtype(words))
    bits = lax.bitwise_and(bits, full_like(bits, np.iinfo(words).max))
    denormal = lax.bitwise_and(lax.gt(bits, 0), lax.lt(bits, full_like(bits, 1 << fraction)))
    steps = to_dtype(lax.select_n(denormal, full_like(bits, 1), bits), typeof(x).dtype)
    return lax.select_n(denormal, out, sub(-lowest * math.log(2.0), log(steps)))


@functools.cache
def log_gamma_row(count):
    """The coefficients of ``log gamma(2 + z) / z`` by powers of ``z``: ``1 - gamma``, then ``(-1) ** k
    (zeta(k) - 1) / k`` for ``k = 2, 3, ...``; zeta by the Euler-Maclaurin formula (DLMF 25.2.9).
    """

    def zeta_less_1(k, n=60):
        tail = n ** (1 - k) / (k - 1) - n**-k / 2 + k * n ** (-k - 1) / 12
        tail -= k * (k + 1) * (k + 2) * n ** (-k - 3) / 720
        return math.fsum([*[i**-k for i in range(2, n + 1)], tail])

    return [1 - EULER, *[(-1) ** k * zeta_less_1(k) / k for k in range(2, count)]]


# ---------------------------------------------------------------------------------------------------- Temme
def temme(a, eta):
    """``S = sum of c_k(eta) a ** -k`` (DLMF 8.12.8) and its derivatives by ``eta`` and by ``a``."""
    rows = temme_rows(is_double(a))
    w = div(1.0, a)
    values = [_or_full(eta, polynomial(eta, row)) for row in rows]
    slopes = [_or_full(eta, polynomial(eta, [n * c for n, c in enumerate(row)][1:] or [0.0])) for row in rows]
    total, by_eta = polynomial_of(w, values), polynomial_of(w, slopes)
    by_w = polynomial_of(w, [mul(v, float(k)) for k, v in enumerate(values)][1:])
    return total, by_eta, mul(by_w, mul(mul(w, w), -1.0))


def polynomial_of(x, coefficients):
    """A polynomial whose coefficients are arrays."""
    total = coefficients[-1]
    for c in coefficients[-2::-1]:
        total = add(mul(total, x), c)
    return total


def _or_full(like, value):
    return full_like(like, value) if isinstance(value, float) else value


@functools.cache
def temme_rows(double):
    """For each ``k`` the Taylor coefficients of ``c_k``, as many as count in single or double precision.

    DLMF 8.12.12: ``d[k, n] = (-1) ** k g[k] d[0, n] + (n + 2) d[k - 1, n + 2]``.
    """
    orders, degrees = (12, 22) if double else (5, 10)
    alpha = _alpha(degrees + 2 * orders + 3)
    g = _stirling_factors(orders)
    first = [2 * alpha[2] - 1] + [(n + 2) * alpha[n + 2] for n in range(1, degrees + 2 * orders)]
    row, rows = first, []
    for k in range(orders):
        if k:
            row = [
                (-1) ** k * g[k] * first[n] + (n + 2) * row[n + 2] for n in range(degrees + 2 * (orders - k))
            ]
        rows.append(_counting(row, k, 1e-15 if double else 1e-8))
    while not rows[-1]:
        rows.pop()
    return rows


def _counting(row, k, least):
    """The coefficients up to the last one that counts, as floats."""
    sizes = [builtins.abs(float(c)) * TEMME_FROM**-k * _LARGEST_ETA**n for n, c in enumerate(row)]
    last = max([n for n, size in enumerate(sizes) if size > least], default=-1)
    return tuple([float(c) for c in row[: last + 1]])


def _alpha(count):
    """The coefficients of ``x / a - 1`` as a power series in eta (DLMF 8.12.11)."""
    alpha = [Fraction(0), Fraction(1)]
    for n in range(2, count + 1):
        products = sum([k * alpha[k] * alpha[n - k + 1] for k in range(2, n)], Fraction(0))
        alpha.append((alpha[n - 1] - products) / (n + 1))
    return alpha


def _stirling_factors(count):
    """The coefficients of Stirling's series for gamma itself: the exponential of that of log gamma."""
    logs = [Fraction(0)] * (count + 1)
    for j, c in enumerate(STIRLING):
        if 2 * j + 1 <= count:
            logs[2 * j + 1] = c
    g = [Fraction(1)]
    for k in range(1, count + 1):
        g.append(sum([j * logs[j] * g[k - j] for j in range(1, k + 1)], Fraction(0)) / k)
    return g


__all__ = ["inverse_factorial", "near_distance", "temme", "temme_rows", "weighted_distance"]
