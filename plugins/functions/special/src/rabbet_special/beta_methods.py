"""How the two tails of a beta variable are computed: a series, a continued fraction and an expansion.

Each gives the tail on the side of ``p``, which is not beyond the mean by much, and what it leaves to 1, both
with their digits:

- the power series for shapes up to 1 (NIST DLMF 8.17.7), of which the rest is computed as ``small_shapes`` of
  the incomplete gamma function is: what is left to 1 may be far smaller than the rounding error of 1;
- the even part of the continued fraction (DLMF 8.17.22; A. R. DiDonato and A. H. Morris, "Significant digit
  computation of the incomplete beta function ratios", 1992), which takes a few times the square root of the
  smaller shape steps;
- the first two terms of Temme's expansion for large shapes (DLMF 8.18.9).
"""

import math

import numpy as np
from rabbet import lax
from rabbet.lax import abs, add, div, erfc, exp, expm1, log, log1p, min, mul, neg, sqrt, sub

from rabbet_special.gamma_parts import (
    STIRLING,
    inverse_factorial,
    log_gamma_row,
    near_distance,
    weighted_distance,
)
from rabbet_special.numerics import epsilon, full_like, is_double, largest, polynomial, repeat_while

MOST_STEPS = 20000


def large_from(x):
    """The smaller shape from which on Temme's expansion is used: the next term of it is below the precision,
    and so are powers of ``off / shape`` that are left out where there is any probability.
    """
    return 1e6 if is_double(x) else 1e4


def exponent(a, b, p, q):
    """``(E, error, scale)`` with ``p ** a q ** b / B(a, b) == exp(error - E) scale``, ``E >= 0`` the distance
    from the saddle point ``p = a / (a + b)``.
    """
    total = add(a, b)
    off = sub(mul(p, b), mul(q, a))
    left = weighted_distance(a, off, _share_of_mean(p, a, total))
    right = weighted_distance(b, neg(off), _share_of_mean(q, b, total))
    error_a, root_a = inverse_factorial(a)
    error_b, root_b = inverse_factorial(b)
    error, root = inverse_factorial(total)
    scale = mul(mul(min(a, b), div(lax.max(a, b), total)), div(div(root, root_a), root_b))
    return add(left, right), sub(error, add(error_a, error_b)), scale


def _share_of_mean(p, a, total):
    """``p total / a``, in the order in which no step of it is too large or too small a number."""
    return lax.select_n(lax.gt(total, 1.0), mul(p, div(total, a)), div(mul(p, total), a))


def density(a, b, p):
    """``p ** (a - 1) (1 - p) ** (b - 1) / B(a, b)`` for positive shapes and ``0 < p < 1``."""
    q = sub(1.0, p)
    distance, error, scale = exponent(a, b, p, q)
    # Half of the power first, or it would be 0 where the quotient is not.
    half = exp(mul(0.5, sub(error, distance)))
    return mul(div(mul(half, scale), mul(p, q)), half)


# ------------------------------------------------------------------------------------- shapes up to 1
def series_tails(here, a, b, p):
    """``(tail, rest)`` for ``a <= 1``, where ``here``."""
    a, b, p = (lax.select_n(here, full_like(p, v), x) for x, v in ((a, 1.0), (b, 1.0), (p, 0.25)))

    def more(n, total):
        return lax.gt(n, 0.0)

    def step(held, n, total):
        # The sum of (1 - b)_n p ** n / (n! (a + n)) over n > 0, innermost factor first.
        a, b, p = held
        ratio = mul(sub(n, b), div(p, n))
        inner = mul(ratio, add(div(1.0, add(a, n)), total))
        return sub(n, 1.0), lax.select_n(lax.gt(n, 0.0), total, inner)

    steps = lax.select_n(here, full_like(p, 0), full_like(p, 52 if is_double(p) else 24))
    _, total = repeat_while(more, step, (steps, full_like(p, 0)), (a, b, p))
    logs, part = log_power(a, b, p), mul(a, total)
    share = div(1.0, add(1.0, div(a, b)))
    tail = mul(mul(exp(logs), add(1.0, part)), share)
    logs = sub(logs, log1p(div(a, b)))
    near = sub(neg(expm1(logs)), mul(exp(logs), part))
    return tail, lax.select_n(lax.lt(tail, 0.5), near, sub(1.0, tail))


def log_power(a, b, p):
    """``log(p ** a gamma(1 + a + b) / (gamma(1 + a) gamma(1 + b)))`` for ``a <= 1``, with an error that goes
    to 0 with ``a``: differences of ``log gamma`` are taken on paper, by Stirling's formula at ``b + n``.
    """
    n = 10 if is_double(a) else 4
    z = add(b, 1.0 + n)
    steps = None  # what the product of (1 + b + k + a) / (1 + b + k) is more than 1
    for k in range(n):
        ratio = div(a, add(b, 1.0 + k))
        steps = ratio if steps is None else add(steps, add(ratio, mul(steps, ratio)))
    assert steps is not None  # n is at least 1
    u = div(a, z)
    moved = add(z, a)
    grown = sub(neg(mul(z, near_distance(u))), mul(0.5, log1p(u)))
    w, v = div(1.0, z), div(1.0, moved)
    apart = neg(mul(mul(w, v), a))  # v - w
    one, two = mul(w, w), mul(v, v)
    terms = [float(c) for c in STIRLING[: 8 if is_double(a) else 4]]
    value, slope = full_like(a, terms[-1]), full_like(a, 0)
    for c in terms[-2::-1]:  # the polynomial of w ** 2, and its quotient of differences
        slope = add(mul(slope, two), value)
        value = add(mul(value, one), c)
    squares = mul(apart, add(v, w))
    grown = add(grown, add(mul(apart, value), mul(v, mul(squares, slope))))
    # log gamma(1 + a), by the series around 2 from the nearer side
    below = lax.lt(a, 0.5)
    far = lax.select_n(below, sub(a, 1.0), a)
    of_a = mul(far, polynomial(far, log_gamma_row(26 if is_double(a) else 14)))
    of_a = sub(of_a, lax.select_n(below, full_like(a, 0), log1p(a)))
    return sub(sub(add(mul(a, log(mul(p, moved))), grown), log1p(steps)), of_a)


# --------------------------------------------------------------------------------- the continued fraction
def fraction(here, a, b, p, q):
    """What ``p ** a q ** b / B(a, b)`` is multiplied by, by the modified method of Lentz (I. J. Thompson and
    A. R. Barnett, 1986), for ``a >= 1`` and where ``here``.
    """
    eps = 4 * epsilon(p)

    def more(n, c, d, f, change):
        return lax.bitwise_and(lax.gt(abs(change), eps), lax.lt(n, float(MOST_STEPS)))

    def step(held, n, c, d, f, change):
        n = add(n, 1.0)
        above, below = _numerator(n, *held), _denominator(n, *held)
        c = add(below, div(above, c))
        d = div(1.0, add(below, mul(above, d)))
        # What has converged stays, or its rounding errors would pile up while others are not there yet.
        ratio = lax.select_n(lax.gt(abs(change), eps), full_like(c, 1), mul(c, d))
        return n, c, d, mul(f, ratio), sub(ratio, 1.0)

    nought = full_like(p, 0)
    d = div(div(add(a, 1.0), a), add(sub(mul(a, q), mul(b, p)), 1.0))  # 1 / denominator number 0
    going = lax.select_n(here, nought, full_like(p, 1))
    *_, f, change = repeat_while(more, step, (nought, full_like(p, np.inf), d, d, going), (a, b, p, q))
    return lax.select_n(lax.gt(abs(change), eps), f, np.nan)


def _numerator(n, a, b, p, q):
    """Number ``n``, from 1 on."""
    last = sub(n, 1.0)
    width = sub(add(a, mul(n, 2.0)), 1.0)
    one = mul(div(mul(add(add(a, b), last), p), width), div(add(a, last), width))
    return mul(one, mul(n, mul(sub(b, n), p)))


def _denominator(n, a, b, p, q):
    """Number ``n``, from 1 on; number 0 lacks the term ``first``."""
    twice = add(a, mul(n, 2.0))
    first = div(mul(n, mul(sub(b, n), p)), sub(twice, 1.0))
    drift = add(sub(mul(a, q), mul(b, p)), add(mul(n, add(q, 1.0)), 1.0))
    return add(add(n, first), mul(div(add(a, n), add(twice, 1.0)), drift))


# --------------------------------------------------------------------------------------- large shapes
def expanded_tails(a, b, p, q, distance):
    """``(tail, rest)`` where both shapes are large; ``distance`` is the ``E`` of ``exponent``.

    With ``E = (a + b) eta ** 2 / 2`` the tail is that of a normal variable and ``exp(-E) S / sqrt(2 pi (a +
    b))``, in which ``S`` is ``1 / eta - sigma / (p - mean)`` but for a part of about ``1 / a``. The
    difference is taken on paper.
    """
    total = add(a, b)
    off = sub(mul(p, b), mul(q, a))
    skew = sub(mul(div(b, a), _cubic(div(off, a))), mul(div(a, b), _cubic(neg(div(off, b)))))
    bend = lax.clamp(-0.5, mul(mul(2.0, skew), div(off, total)), 10.0)
    root = sqrt(add(1.0, bend))
    narrow = div(mul(sqrt(div(a, total)), sqrt(div(b, total))), sqrt(total))
    first = neg(div(mul(mul(2.0, skew), narrow), mul(root, add(1.0, root))))
    lean = div(div(sub(a, b), sqrt(total)), mul(sqrt(a), sqrt(b)))
    second = mul(mul(lean, add(mul(lean, lean), div(27.0, total))), -1 / 540)
    part = mul(mul(exp(neg(distance)), 1.0 / math.sqrt(2.0 * math.pi)), add(first, second))
    size = mul(lax.sign(off), sqrt(distance))
    return add(mul(0.5, erfc(neg(size))), part), sub(mul(0.5, erfc(size)), part)


def _cubic(u):
    """``(u - log(1 + u) - u ** 2 / 2) / u ** 3`` for small ``u``."""
    terms = [(-1.0) ** (k + 1) / (k + 3) for k in range(12 if is_double(u) else 8)]
    return polynomial(lax.clamp(-0.5, u, 0.5), terms)


# ------------------------------------------------------------------------------------------- both tails
def both_tails(a, b, x):
    """``(lower, upper)``: the probabilities of less and of more than ``x``, for ``0 < x < 1`` and positive
    numbers as shapes.
    """
    # Sums of the largest shapes are no numbers; of such shapes the quotient alone counts.
    less = lax.select_n(lax.lt(add(a, b), np.inf), full_like(x, 2.0**-10), full_like(x, 1))
    a, b = mul(a, less), mul(b, less)
    y = sub(1.0, x)
    total = add(add(a, b), 2.0)
    # The fraction converges fast below the mean; above it, the roles change. Of small shapes the series'
    # sides end where its terms grow.
    small_a, small_b = lax.le(a, 1.0), lax.le(b, 1.0)
    swap = lax.gt(mul(x, total), add(a, 1.0))
    swap = lax.select_n(small_b, swap, lax.le(mul(y, total), 1.0))
    swap = lax.select_n(small_a, swap, lax.gt(mul(x, total), 1.0))
    swap = lax.select_n(lax.bitwise_and(small_a, small_b), swap, lax.gt(x, 0.5))
    one, two = lax.select_n(swap, a, b), lax.select_n(swap, b, a)
    p, q = lax.select_n(swap, x, y), lax.select_n(swap, y, x)
    small, large = lax.le(one, 1.0), lax.ge(min(a, b), large_from(x))
    by_series = series_tails(small, one, two, p)
    distance, error, scale = exponent(one, two, p, q)
    # Where the tail is 0 by far, terms of the fraction may be no numbers.
    some = lax.lt(distance, 4.0 * math.log(largest(x)))
    middle = lax.bitwise_and(some, lax.bitwise_not(lax.bitwise_or(small, large)))
    tail = mul(mul(exp(sub(error, distance)), scale), fraction(middle, one, two, p, q))
    tail = lax.select_n(some, full_like(x, 0), tail)
    by_expansion = expanded_tails(one, two, p, q, distance)
    tails = [
        lax.select_n(small, lax.select_n(large, middle, expanded), summed)
        for middle, expanded, summed in zip((tail, sub(1.0, tail)), by_expansion, by_series, strict=True)
    ]
    return lax.select_n(swap, *tails), lax.select_n(swap, *tails[::-1])


__all__ = ["both_tails", "density"]
