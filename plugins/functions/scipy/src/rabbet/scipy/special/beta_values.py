"""The algorithms of the beta function, of its logarithm and of quotients of gamma functions, and their
primitives.

Logarithms of large arguments are differences of Stirling's formulas, written so that the large terms cancel
on paper (A. R. DiDonato and A. H. Morris, algorithm 708, 1992).
"""

import math

import rabbet.numpy as rnp
from rabbet import lax
from rabbet.scipy.special.density_values import log_beta_densities
from rabbet.scipy.special.gamma_values import digamma_step, real_digamma, real_gamma
from rabbet.scipy.special.hypergeometric_values import beta_fraction
from rabbet.scipy.special.numerics import (
    STIRLING_FROM,
    choose,
    epsilon,
    is_double,
    stirling_error,
    whole,
    x_log,
)
from rabbet.scipy.special.primitive_factory import BY_DIFFERENTIATION, NoDerivative, define, differentiated

HALF_LOG_2_PI = 0.5 * math.log(2.0 * math.pi)
MOST_FACTORS = 64


def largest_gamma(x):
    """Below what gamma does not overflow."""
    return 171.0 if is_double(x) else 35.0


def is_pole(x):
    """Whether gamma has a pole there."""
    return whole(x) & (x <= 0.0)


def sign_of_gamma(x):
    """1 or -1; NaN where it has none, as at -1, -2, ...; at 0 the sign of the zero."""
    odd = lax.floor(x) - 2.0 * lax.floor(0.5 * lax.floor(x)) == 1.0
    negative = choose(odd, -1.0, 1.0 + 0.0 * x)
    at_zero = choose(1.0 / x < 0.0, -1.0, 1.0 + 0.0 * x)
    return choose(
        x > 0.0, 1.0, x == 0.0, at_zero, is_pole(x) | (x == -math.inf), math.nan, x < 0.0, negative, x
    )


def log_beta_of(a, b):
    """``log B(a, b)`` for positive arguments."""
    small, large = lax.min(a, b), lax.max(a, b)
    total = small + large
    # Of moderate ones the gamma functions themselves, which keep the digits around 0.
    moderate = total < 0.9 * largest_gamma(a)
    s, t = choose(moderate, small, 1.0), choose(moderate, large, 1.0)
    near = lax.log(beta_of_moderate(s, t))
    far_small, far_large = lax.max(small, STIRLING_FROM), lax.max(large, STIRLING_FROM)
    one_large = log_beta_of_one_large(small, far_large)
    both = -(far_small - 0.5) * lax.log1p(far_large / far_small) - far_large * lax.log1p(
        far_small / far_large
    )
    both = both - 0.5 * lax.log(far_large) + HALF_LOG_2_PI + stirling_error(far_small)
    both = both + stirling_error(far_large) - stirling_error(far_small + far_large)
    return choose(moderate, near, small < STIRLING_FROM, one_large, both)


def log_beta_of_one_large(small, large):
    """``log |B|`` where one argument and the sum of both are large."""
    error = stirling_error(large) - stirling_error(large + small)
    # A small quotient may be no number.
    little = lax.abs(small) < 0.1 * epsilon(large) * large
    falling = choose(
        little, small * (0.5 / large - 1.0), -(large - 0.5) * lax.log1p(choose(little, 0.0, small / large))
    )
    falling = falling - small * (lax.log(large + small) - 1.0)
    return lax.lgamma(small) + falling + error


def beta_of_moderate(small, large):
    """By gamma functions. What the sum of the arguments loses in rounding is put back by the derivative."""
    total = small + large
    lost = choose(lax.abs(small) < lax.abs(large), small - (total - large), large - (total - small))
    at = choose(is_pole(total), 0.5, total)
    shift = 1.0 - lost * choose(at > 0.5, lax.digamma(lax.max(at, 0.5)), 0.0)
    return real_gamma(large) / real_gamma(at) * real_gamma(small) * shift


def log_beta(a, b):
    """``log |B(a, b)|``."""
    positive = (a > 0.0) & (b > 0.0)
    value = log_beta_of(choose(positive, a, 1.0), choose(positive, b, 1.0))
    size = lax.lgamma(a) + lax.lgamma(b) - lax.lgamma(a + b)
    small, large = lax.min(a, b), lax.max(a, b)
    mixed = (small < 0.0) & (large + small > STIRLING_FROM) & (large < math.inf)
    size = choose(mixed, log_beta_of_one_large(choose(mixed, small, 1.0), choose(mixed, large, 20.0)), size)
    zero = is_pole(a + b) & ~is_pole(a) & ~is_pole(b)
    size = choose(zero, -math.inf, size)
    whole_one, other, both = _whole_pole(a, b)
    size = choose(
        both, log_beta_of(choose(both, 1.0 - whole_one - other, 1.0), choose(both, other, 1.0)), size
    )
    pole = (is_pole(a) | is_pole(b)) & ~both & (a == a) & (b == b)
    out = choose(positive, value, pole, math.inf, size)
    infinite = (a == math.inf) | (b == math.inf)
    # With a finite number up to 0 it grows without bound.
    alone = infinite & (lax.min(a, b) <= 0.0) & (lax.min(a, b) > -math.inf)
    return choose(infinite & positive, -math.inf, alone, math.inf, infinite, math.nan, out)


def _whole_pole(a, b):
    """Where one argument is a pole and the other a small enough whole number, so that the poles cancel: (that
    one, the other, where).
    """
    one, other = choose(is_pole(a), a, b), choose(is_pole(a), b, a)
    return one, other, is_pole(one) & whole(other) & (other > 0.0) & (1.0 - one - other > 0.0)


def beta_of(a, b):
    """``B(a, b) = gamma(a) gamma(b) / gamma(a + b)``."""
    limit = 0.99 * largest_gamma(a)
    moderate = (lax.abs(a) < limit) & (lax.abs(b) < limit) & (lax.abs(a + b) < limit)
    u, v = choose(moderate, a, 1.0), choose(moderate, b, 1.0)
    small, large = lax.min(u, v), lax.max(u, v)
    zero = is_pole(a + b) & ~is_pole(a) & ~is_pole(b)
    near = beta_of_moderate(small, large)
    sign = sign_of_gamma(a) * sign_of_gamma(b) * sign_of_gamma(a + b)
    out = choose(moderate, near, sign * lax.exp(log_beta(a, b)))
    one, other, both = _whole_pole(a, b)
    odd = other - 2.0 * lax.floor(0.5 * other) == 1.0
    value = lax.exp(log_beta_of(choose(both, 1.0 - one - other, 1.0), choose(both, other, 1.0)))
    pole = is_pole(one) & (one == one)
    return choose(both, choose(odd, -value, value), pole & (other == other), math.inf, zero, 0.0, out)


def rising(z, m):
    """``gamma(z + m) / gamma(z)`` for whole ``|m|`` up to MOST_FACTORS, as a product."""
    count = lax.min(lax.abs(m), float(MOST_FACTORS))
    upward = m > 0.0

    def more(state):
        k, _ = state
        return rnp.any(k < count)

    def step(state):
        k, product = state
        factor = choose(upward, z + k, z - 1.0 - k)
        return k + 1.0, choose(k < count, product * factor, product)

    _, product = lax.while_loop(more, step, (lax.full_like(z, 0, shape=()), lax.full_like(z, 1)))
    return choose(upward, product, 1.0 / product)


def is_short(m):
    return whole(m) & (lax.abs(m) <= MOST_FACTORS)


def pochhammer(z, m):
    """``gamma(z + m) / gamma(z)``."""
    end = z + m
    limit = 0.99 * largest_gamma(z)
    moderate = (lax.abs(z) < limit) & (lax.abs(end) < limit)
    near = real_gamma(choose(moderate, end, 1.0)) / real_gamma(choose(moderate & ~is_pole(z), z, 1.0))
    far = sign_of_gamma(z) * sign_of_gamma(end) * lax.exp(lax.lgamma(end) - lax.lgamma(z))
    positive = (z > STIRLING_FROM) & (end > STIRLING_FROM)
    u, v = choose(positive, z, 20.0), choose(positive, end, 20.0)
    step = choose(positive, m, 0.0)  # which the difference of both has lost where they are large
    grown = (u - 0.5) * lax.log1p(step / u) + step * (lax.log(v) - 1.0)
    far = choose(positive, lax.exp(grown + stirling_error(v) - stirling_error(u)), far)
    out = choose(moderate, near, far)
    out = choose(is_pole(end) & ~is_pole(z), math.inf, is_pole(z) & ~is_pole(end), 0.0, out)
    limit = choose(m > 0.0, math.inf, m < 0.0, 0.0, 1.0 + 0.0 * m)
    out = choose(m == -math.inf, math.nan, (z == math.inf) & (lax.abs(m) < math.inf), limit, out)
    return choose(is_short(m), rising(z, choose(is_short(m), m, 0.0)), out)


# -------------------------------------------------------------------------------------------- the primitives
products = define(
    "rising_product", "z m", rising,
    [BY_DIFFERENTIATION, lambda z, m, out: out * real_digamma(z + m)],
    "gamma(z + m) / gamma(z) for whole m",
)  # fmt: skip


def pochhammer_by_z(z, m, out):
    short = differentiated(products, 0)(z, choose(is_short(m), m, 0.0))
    return choose(is_short(m), short, out * digamma_step(z, m))


def beta_slope(a, b, x, which):
    """The derivative of the regularized incomplete beta function by ``a`` (which = 0) or by ``b`` (1)."""
    inside = (x > 0.0) & (x < 1.0) & (a > 0.0) & (b > 0.0)
    a, b, p = choose(inside, a, 1.0), choose(inside, b, 1.0), choose(inside, x, 0.5)
    swap = p * (a + b + 2.0) > a + 1.0
    one, two = choose(swap, b, a), choose(swap, a, b)
    p, q = choose(swap, 1.0 - p, p), choose(swap, p, 1.0 - p)
    fraction = beta_fraction(one, two, p)
    logs = x_log(one, lax.log(p)) + x_log(two, lax.log(q)) - log_beta_of(one, two)
    scale = lax.exp(logs) / one
    total = real_digamma(one + two)
    # By the first parameter of the fraction, and by the second.
    first = fraction * (lax.log(p) + total - real_digamma(one) - 1.0 / one)
    first = first + differentiated(beta_fraction, 0)(one, two, p)
    second = fraction * (lax.log(q) + total - real_digamma(two)) + differentiated(beta_fraction, 1)(
        one, two, p
    )
    slope = choose(swap, -second, first) if which == 0 else choose(swap, -first, second)
    return choose(inside, scale * slope, 0.0)


def incomplete_by_x(a, b, x, out):
    """The density ``x ** (a - 1) (1 - x) ** (b - 1) / B(a, b)``."""
    return lax.exp(log_beta_densities(a, b, x))


SECOND = NoDerivative("a second derivative by the shapes is not offered")


def by_shape(which):
    """The primitive of the derivative of the incomplete beta function by a shape."""

    def mixed(a, b, x, out):
        log = lax.log(x) if which == 0 else lax.log1p(-x)
        shape = a if which == 0 else b
        return incomplete_by_x(a, b, x, out) * (log - real_digamma(shape) + real_digamma(a + b))

    return define(
        f"betainc_by_{'ab'[which]}", "a b x", lambda a, b, x: beta_slope(a, b, x, which),
        [SECOND, SECOND, mixed], f"the derivative of betainc(a, b, x) by {'ab'[which]}",
    )  # fmt: skip


betainc_by_a, betainc_by_b = by_shape(0), by_shape(1)
incomplete_betas = define(
    "betainc", "a b x", lambda a, b, x: lax.betainc(a, b, x),
    [
        lambda a, b, x, out: betainc_by_a(a, b, x), lambda a, b, x, out: betainc_by_b(a, b, x),
        incomplete_by_x,
    ],
    "the regularized incomplete beta function",
)  # fmt: skip
incomplete_beta_complements = define(
    "betaincc", "a b x", lambda a, b, x: lax.betaincc(a, b, x),
    [
        lambda a, b, x, out: -betainc_by_a(a, b, x), lambda a, b, x, out: -betainc_by_b(a, b, x),
        lambda a, b, x, out: -incomplete_by_x(a, b, x, out),
    ],
    "1 - betainc(a, b, x)",
)  # fmt: skip
betas = define(
    "beta", "a b", beta_of,
    [
        lambda a, b, out: -out * digamma_step(a, b),
        lambda a, b, out: -out * digamma_step(b, a),
    ],
    "the beta function", weak=False,
)  # fmt: skip
log_betas = define(
    "betaln", "a b", log_beta,
    [
        lambda a, b, out: -digamma_step(a, b),
        lambda a, b, out: -digamma_step(b, a),
    ],
    "log of the beta function",
)  # fmt: skip
rising_factorials = define(
    "poch", "z m", pochhammer,
    [pochhammer_by_z, lambda z, m, out: out * real_digamma(z + m)], "gamma(z + m) / gamma(z)",
    weak=False,
)  # fmt: skip

__all__ = [
    "betainc_by_a", "betainc_by_b", "betas", "incomplete_beta_complements", "incomplete_betas",
    "incomplete_by_x", "log_betas", "rising_factorials", "sign_of_gamma",
]  # fmt: skip
