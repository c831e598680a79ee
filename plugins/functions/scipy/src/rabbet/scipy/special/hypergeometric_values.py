"""The algorithms of the hypergeometric functions 1F1 and 2F1 and of the incomplete beta function by its
shapes.

The series are summed where they converge fast and without cancellation, which the transformations of Kummer,
Pfaff and Euler bring about (NIST DLMF 13.2.39, 15.8.1); asymptotic series and the connection at 1 serve where
they do not (DLMF 13.7.2, 15.8.4). Derivatives by the parameters are those of the sums, term by term, as R. J.
Boik and J. F. Robinson-Cox do it for the incomplete beta function ("Derivatives of the incomplete beta
function", 1998). A sum that has not converged after MOST_TERMS terms is NaN.
"""

import math

import rabbet.numpy as rnp
from rabbet import lax
from rabbet.scipy.special.gamma_values import real_gamma
from rabbet.scipy.special.numerics import choose, epsilon, is_double, whole
from rabbet.scipy.special.primitive_factory import BY_DIFFERENTIATION, define

MOST_TERMS = 20000
ASYMPTOTIC_TERMS = 40


def summed(ratio, first, until_zero=False):
    """The sum of terms, the first one positive, each ``ratio(n)`` times the one before: factors and the rest.

    Args:
      ratio: ``n -> (factors, rest)``. A term is ``rest`` times the factors; what stops the sum is a bound in
        which
        factors below 1/2 count as 1/2, so that the derivatives of a sum that ends are there.
      until_zero: stop at the first term that is 0, for sums that end and would not converge.
    """
    least = 0.01 * epsilon(first)

    def more(state):
        n, going, *_ = state
        return rnp.any(going) & (n < float(MOST_TERMS))

    def step(state):
        n, going, bound, term, total = state
        factors, rest = ratio(n)
        growth = lax.abs(rest)
        for f in factors:
            rest = rest * f
            growth = growth * lax.max(lax.abs(f), 0.5)
        bound, term = bound * growth, term * rest
        total = choose(going, total + term, total)
        n = n + 1.0
        # Derivatives grow by about log(n) and the tail by 1 / (1 - growth).
        small = bound * (n + 1.0) <= least * lax.max(lax.abs(total), first) * lax.max(1.0 - growth, 1e-5)
        done = (term == 0.0) if until_zero else small & (growth < 1.0)
        return n, going & ~done & (total == total), bound, term, total

    start = (lax.full_like(first, 0, shape=()), first == first, first, first, first)
    _, going, _, _, total = lax.while_loop(more, step, start)
    return choose(going, math.nan, total)


def _not_zero(x):
    """``x``, and 1 for 0: where a sum is over before it is divided by it."""
    return choose(x == 0.0, 1.0, x)


def is_pole(x):
    """Whether gamma has a pole there."""
    return whole(x) & (x <= 0.0)


def inverse_gamma(x):
    """``1 / gamma(x)``, 0 at the poles."""
    return choose(is_pole(x), 0.0, 1.0 / real_gamma(choose(is_pole(x), 1.0, x)))


# --------------------------------------------------------------------------------------------------- 1F1
def kummer_series(a, b, x, first):
    return summed(lambda n: ((a + n,), x / (_not_zero(b + n) * (n + 1.0))), first)


def kummer_far(a, b, x):
    """``1F1(a, b, -x)`` for large ``x > 0``, DLMF 13.7.2: its terms until they grow."""
    term, total, going = lax.full_like(x, 1), lax.full_like(x, 1), x == x
    for n in range(ASYMPTOTIC_TERMS):
        ratio = (a + float(n)) * (1.0 + a - b + float(n)) / (float(n + 1) * x)
        going = going & (lax.abs(ratio) < 1.0)
        term = choose(going, term * ratio, 0.0)
        total = total + term
    return total * lax.pow(x, -a) * real_gamma(b) * inverse_gamma(b - a)


def confluent(a, b, x):
    """``1F1(a, b, x)``."""
    # exp(x) 1F1(b - a, b, -x) has terms of one sign where x is negative, and may end.
    ends, other_ends = is_pole(a), is_pole(b - a)
    turned = choose(x < 0.0, ~ends | other_ends, other_ends & ~ends)
    size = lax.abs(x)
    scale = 1.0 + lax.max(lax.abs(a), lax.abs(b - a))
    far = (x < 0.0) & turned & ~other_ends & (size > 40.0)
    far = far & (size > (2.0 if is_double(x) else 1.0) * scale * scale)
    inner = choose(far, 0.0, turned, -x, x)
    # Half of the exponential goes into the first term, so that the sum does not overflow where the product
    # does not.
    half = choose(turned & ~far, lax.exp(0.5 * x), 1.0)
    value = kummer_series(choose(turned, b - a, a), b, inner, half) * half
    value = choose(far, kummer_far(choose(far, a, 1.0), choose(far, b, 2.0), choose(far, size, 100.0)), value)
    # A b where terms divide by 0 is a pole, unless the sum ends before.
    pole = is_pole(b) & ~(ends & (a >= b))
    return choose(pole, math.inf, x == 0.0, 1.0, x == math.inf, math.inf, value)


# --------------------------------------------------------------------------------------------------- 2F1
NEAR_ONE = 0.9
NEAR_WHOLE = 0.02


def gauss_series(a, b, c, x, until_zero=False):
    return summed(
        lambda n: ((a + n, b + n), x / (_not_zero(c + n) * (n + 1.0))), lax.full_like(x, 1), until_zero
    )


def gauss_inside(a, b, c, x):
    """``2F1(a, b, c, x)`` for ``0 <= x < 1``."""
    excess = c - a - b
    # Euler's transformation, where it makes the parameters smaller.
    euler = (excess < 0.0) & ~is_pole(a) & ~is_pole(b)
    p, q = choose(euler, c - a, a), choose(euler, c - b, b)
    factor = choose(euler, lax.pow(1.0 - x, excess), 1.0)
    away = lax.abs(excess - lax.round(excess)) > NEAR_WHOLE
    connected = (x > NEAR_ONE) & away & ~is_pole(p) & ~is_pole(q)
    direct = gauss_series(p, q, c, choose(connected, 0.0, x)) * factor
    y = choose(connected, 1.0 - x, 0.05)
    d = choose(connected, excess, 0.5)
    one = gauss_series(a, b, 1.0 - d, y) * real_gamma(d) * inverse_gamma(c - a) * inverse_gamma(c - b)
    two = gauss_series(c - a, c - b, 1.0 + d, y) * real_gamma(-d) * inverse_gamma(a) * inverse_gamma(b)
    return choose(connected, real_gamma(c) * (one + lax.pow(y, d) * two), direct)


def gauss(a, b, c, x):
    """``2F1(a, b, c, x)`` for ``x <= 1``, and beyond where it is a polynomial."""
    ends = is_pole(a) | is_pole(b)
    beyond = x >= 1.0
    # Pfaff's transformation of negative x, on the parameter by which the sum does not end.
    one, two = choose(is_pole(b), b, a), choose(is_pole(b), a, b)
    negative = x < 0.0
    inside = choose(beyond, 0.5, negative, x / (x - 1.0), x)
    inner = gauss_inside(choose(negative, one, a), choose(negative, c - two, b), c, inside)
    value = choose(negative, lax.pow(choose(negative, 1.0 - x, 1.0), -one) * inner, inner)
    excess = c - a - b
    at_one = choose(
        excess > 0.0,
        real_gamma(c) * real_gamma(excess) * inverse_gamma(c - a) * inverse_gamma(c - b), math.inf,
    )  # fmt: skip
    polynomial = gauss_series(a, b, c, choose(beyond & ends, x, 0.0), True)
    value = choose(beyond & ends, polynomial, x == 1.0, at_one, beyond, math.inf, value)
    last = choose(is_pole(a), a, b)
    last = choose(is_pole(a) & is_pole(b), lax.max(a, b), last)
    pole = is_pole(c) & ~(ends & (last >= c))
    return choose(x == 0.0, 1.0, pole, math.inf, x == x, value, x)


# ------------------------------------------------------------------------- the incomplete beta function
def beta_fraction(a, b, x):
    """The continued fraction by which ``x ** a (1 - x) ** b / (a B(a, b))`` is the incomplete beta function
    (DLMF 8.17.22), for ``x`` below the mean; half as many steps again as its value needs, for its
    derivatives."""
    tiny = 1e-30
    eps = 2.0 * epsilon(x)

    def more(state):
        m, end, *_ = state
        return rnp.any(m < end) & (m < float(MOST_TERMS))

    def step(state):
        m, end, c, d, h = state
        going = m < end
        m = m + 1.0
        twice = 2.0 * m
        even = m * (b - m) * x / ((a + twice - 1.0) * (a + twice))
        odd = -(a + m) * (a + b + m) * x / ((a + twice) * (a + twice + 1.0))
        new_c, new_d, new_h = c, d, h
        for top in (even, odd):
            new_d = 1.0 / (1.0 + top * new_d + tiny)
            new_c = 1.0 + top / new_c + tiny
            change = new_c * new_d
            new_h = new_h * change
        done = (lax.abs(change - 1.0) <= eps) & (end == math.inf)
        end = choose(done, 1.5 * m + 10.0, end)
        return m, end, choose(going, new_c, c), choose(going, new_d, d), choose(going, new_h, h)

    one = lax.full_like(x, 1)
    d = 1.0 / (1.0 - (a + b) * x / (a + 1.0))
    start = (lax.full_like(x, 0, shape=()), lax.full_like(x, math.inf), one, d, d)
    _, end, _, _, h = lax.while_loop(more, step, start)
    return choose(end == math.inf, math.nan, h)


# -------------------------------------------------------------------------------------------- the primitives
hyp1f1s = define(
    "hyp1f1", "a b x", confluent,
    [
        BY_DIFFERENTIATION, BY_DIFFERENTIATION,
        lambda a, b, x, out: a / b * hyp1f1s(a + 1.0, b + 1.0, x),
    ],
    "Kummer's confluent hypergeometric function", weak=False,
)  # fmt: skip
hyp2f1s = define(
    "hyp2f1", "a b c x", gauss,
    [
        BY_DIFFERENTIATION, BY_DIFFERENTIATION, BY_DIFFERENTIATION,
        lambda a, b, c, x, out: a * b / c * hyp2f1s(a + 1.0, b + 1.0, c + 1.0, x),
    ],
    "Gauss's hypergeometric function", weak=False,
)  # fmt: skip

__all__ = ["beta_fraction", "hyp1f1s", "hyp2f1s"]
