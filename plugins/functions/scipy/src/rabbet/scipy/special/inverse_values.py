"""Inverses of distribution functions, of the gamma, the beta and Student's t distribution, and their
primitives.

In the logarithm of a gamma variable, and in the logit of a beta variable, the density is log-concave, and so
are the distribution function and what it leaves to 1. Newton's method for the logarithm of the smaller one of
these two cannot go astray for long, then: each step beyond the root lands short of it, and from there the
steps only grow nearer. A bracket catches what underflows. Derivatives are those of implicit functions.
"""

import math

import rabbet.numpy as rnp
from rabbet import lax
from rabbet.scipy.special.beta_values import (
    betainc_by_a,
    betainc_by_b,
    incomplete_by_x,
    log_betas,
)
from rabbet.scipy.special.error_values import normal_probability
from rabbet.scipy.special.gamma_values import real_digamma
from rabbet.scipy.special.numerics import choose, epsilon, is_double, largest, smallest, x_log
from rabbet.scipy.special.primitive_factory import define

MOST_STEPS = 200


def quantile_of_normal(p, q):
    """About the quantile of the normal distribution (M. Abramowitz and I. A. Stegun, 26.2.22); a start."""
    tail = lax.sqrt(-2.0 * lax.log(lax.min(p, q)))
    size = tail - (2.30753 + 0.27061 * tail) / (1.0 + tail * (0.99229 + 0.04481 * tail))
    return choose(p < q, -size, size)


def increasing_root(tails, held, wanted, other, start, low, high):
    """Where the first of two tails, which sum to 1, is ``wanted``, and the second ``other``.

    Args:
      tails: ``(t, *held) -> (lower, upper, density)``.

    Returns:
      the place, and a last step from there, smaller than the distance of floats.
    """
    by_lower = wanted <= other
    log = lax.log(lax.min(wanted, other))
    nought = lax.full_like(start, 0)

    def more(state):
        n, going, *_ = state
        return rnp.any(going) & (n < MOST_STEPS)

    def step(state):
        n, going, t, rest, low, high = state
        lower, upper, density = tails(t, *held)
        tail = choose(by_lower, lower, upper)
        off = lax.log(tail) - log
        off = choose(by_lower, off, -off)
        low, high = choose(off < 0.0, t, low), choose(off < 0.0, high, t)
        move = choose(off == 0.0, nought, -off * tail / density)
        new = t + move
        inside = (new >= low) & (new <= high)
        new, move = choose(inside, new, low + 0.5 * (high - low)), choose(inside, move, nought)
        close = lax.abs(new - t) <= 2.0 * epsilon(t) * lax.max(lax.abs(t), lax.full_like(t, 1))
        rest = choose(going & close, move, rest)
        return n + 1, going & ~close, choose(going & ~close, new, t), rest, low, high

    going = lax.full_like(start, True, dtype=bool)
    _, _, t, rest, *_ = lax.while_loop(more, step, (0, going, start, nought, low, high))
    return t, rest


# -------------------------------------------------------------------------------------------- gamma
def log_gamma_density(a, x):
    """``log`` of the density of a gamma variable, times ``x``."""
    return x_log(a, lax.log(x)) - x - lax.lgamma(a)


def gamma_tails(u, a):
    x = lax.exp(u)
    return lax.igamma(a, x), lax.igammac(a, x), lax.exp(log_gamma_density(a, x))


def gamma_root(a, p, q):
    """Where the distribution function is ``p``, and leaves ``q`` to 1."""
    valid = (a > 0.0) & (a < math.inf) & (p > 0.0) & (q > 0.0)
    a1, p1, q1 = choose(valid, a, 1.0), choose(valid, p, 0.5), choose(valid, q, 0.5)
    # P is below x ** a / gamma(a + 1); Q is below Chernoff's bound.
    low = (lax.log(p1) + lax.lgamma(a1 + 1.0)) / a1
    high = lax.log(4.0 * a1 - 2.0 * lax.log(q1) + 1.0)
    third = quantile_of_normal(p1, q1) / (3.0 * lax.sqrt(a1)) + (1.0 - 1.0 / (9.0 * a1))  # Wilson, Hilferty
    guess = choose((third > 0.1) & (a1 > 0.5), lax.log(a1) + 3.0 * lax.log(lax.max(third, 0.1)), low)
    start = lax.min(lax.max(guess, low), high)
    u, rest = increasing_root(gamma_tails, (a1,), p1, q1, start, low - 1.0, high)
    out = choose(low < math.log(1.0 / largest(u)), 0.0, lax.exp(u) * (1.0 + rest))
    at_ends = choose(p == 0.0, 0.0, q == 0.0, lax.full_like(p, math.inf), math.nan)
    return choose(valid, out, (a > 0.0) & (a < math.inf), at_ends, math.nan)


def gamma_inverse_by_y(a, out):
    """One divided by the density."""
    return lax.exp(lax.log(out) - log_gamma_density(a, out))


gamma_inverses = define(
    "gammaincinv", "a y", lambda a, y: gamma_root(a, y, 1.0 - y),
    [
        lambda a, y, out: -lax.igamma_grad_a(a, out) * gamma_inverse_by_y(a, out),
        lambda a, y, out: gamma_inverse_by_y(a, out),
    ],
    "where gammainc(a, x) is y",
)  # fmt: skip
gamma_complement_inverses = define(
    "gammainccinv", "a y", lambda a, y: gamma_root(a, 1.0 - y, y),
    [
        lambda a, y, out: -lax.igamma_grad_a(a, out) * gamma_inverse_by_y(a, out),
        lambda a, y, out: -gamma_inverse_by_y(a, out),
    ],
    "where gammaincc(a, x) is y",
)  # fmt: skip


# --------------------------------------------------------------------------------------------- beta
def beta_tails(t, a, b):
    log_x, log_rest = -softplus(-t), -softplus(t)
    density = lax.exp(a * log_x + b * log_rest - log_betas(a, b))
    # Of the smaller argument, which is exact.
    left = t <= 0.0
    small = lax.logistic(-lax.abs(t))
    one, two = choose(left, a, b), choose(left, b, a)
    tail, other = lax.betainc(one, two, small), lax.betaincc(one, two, small)
    return choose(left, tail, other), choose(left, other, tail), density


def softplus(t):
    """``log(1 + exp(t))``."""
    return lax.max(t, lax.full_like(t, 0)) + lax.log1p(lax.exp(-lax.abs(t)))


def beta_logit(a, b, p, q):
    """The logit of where the distribution function is ``p``, and leaves ``q`` to 1, for valid arguments; and
    what it is short of.
    """
    spread = lax.sqrt(1.0 / a + 0.5 / (a * a) + 1.0 / b + 0.5 / (b * b))
    guess = real_digamma(a) - real_digamma(b) + quantile_of_normal(p, q) * spread
    end = lax.full_like(a, -0.9999 * math.log(smallest(a)))
    start = lax.clamp(-0.9 * end, guess, 0.9 * end)
    return increasing_root(beta_tails, (a, b), p, q, start, -end, end)


def beta_root(a, b, p, q):
    """Where the distribution function is ``p``, and leaves ``q`` to 1."""
    shapes = (a > 0.0) & (b > 0.0) & (a < math.inf) & (b < math.inf)
    valid = shapes & (p > 0.0) & (q > 0.0)
    t, rest = beta_logit(
        choose(valid, a, 1.0), choose(valid, b, 1.0), choose(valid, p, 0.5), choose(valid, q, 0.5)
    )
    out = lax.logistic(t) * (1.0 + lax.logistic(-t) * rest)
    at_ends = choose(p == 0.0, 0.0, q == 0.0, lax.full_like(p, 1), math.nan)
    return choose(valid, out, shapes, at_ends, math.nan)


def beta_slopes(sign):
    """The derivatives of the inverse of the distribution function, or of its complement for ``sign`` -1."""

    def by_y(a, b, y, out):
        return sign / incomplete_by_x(a, b, out, None)

    return [
        lambda a, b, y, out: -betainc_by_a(a, b, out) / incomplete_by_x(a, b, out, None),
        lambda a, b, y, out: -betainc_by_b(a, b, out) / incomplete_by_x(a, b, out, None),
        by_y,
    ]


beta_inverses = define(
    "betaincinv", "a b y", lambda a, b, y: beta_root(a, b, y, 1.0 - y), beta_slopes(1.0),
    "where betainc(a, b, x) is y",
)  # fmt: skip
beta_complement_inverses = define(
    "betainccinv", "a b y", lambda a, b, y: beta_root(a, b, 1.0 - y, y), beta_slopes(-1.0),
    "where betaincc(a, b, x) is y",
)  # fmt: skip


# ------------------------------------------------------------------------------------------ Student
def student(df, t):
    """The distribution function: half of a beta tail."""
    square = t * t
    near = square < lax.min(df, lax.full_like(df, 2))
    half = 0.5 * df
    # The part of the smaller of the two arguments, which add up to 1.
    x = choose(near, square / (df + square), df / (df + square))
    x = choose(square == math.inf, 0.0, x)
    one, two = choose(near, 0.5, half), choose(near, half, 0.5)
    tail = lax.betainc(one, two, x)
    # Far out, where x is too small a number, the tail is its power.
    small = lax.max(half, smallest(half))
    log_x = lax.log(df) - 2.0 * lax.log(lax.abs(t))
    power = small * log_x - lax.log(small) - log_betas(small, lax.full_like(small, 0.5))
    lost = ~near & (x < 1e3 * smallest(x)) & (lax.abs(t) < math.inf)
    tail = choose(lost, lax.exp(power), tail)
    out = choose(near, 0.5 + 0.5 * lax.sign(t) * tail, t > 0.0, 1.0 - 0.5 * tail, 0.5 * tail)
    # Of very many degrees of freedom the sums above have lost the smaller part: by the normal distribution.
    inverse = 1.0 / df
    z = t * (1.0 - 0.25 * inverse) * lax.rsqrt(1.0 + 0.5 * square * inverse)
    z = choose(square == math.inf, t, z)
    out = choose(df > (1e9 if is_double(df) else 1e5), normal_probability(z), out)
    return choose(df > 0.0, out, math.nan)


def log_student_density(df, t):
    df = lax.min(df, 1e20)  # all larger ones have the normal density
    constant = -log_betas(0.5 * df, lax.full_like(df, 0.5)) - 0.5 * lax.log(df)
    return constant - 0.5 * (df + 1.0) * lax.log1p(t * t / df)


def student_by_df(df, t, out):
    square = t * t
    x = df / (df + square)
    half, other = 0.5 * df, lax.full_like(df, 0.5)
    inner = 0.5 * betainc_by_a(half, other, x)
    moved = incomplete_by_x(half, other, x, None) * square / ((df + square) * (df + square))
    slope = -0.5 * lax.sign(t) * (inner + moved)
    return choose(t == 0.0, 0.0, slope)


def student_quantile(df, p):
    """From the inverse of the beta tail that is not near 1."""
    q = 1.0 - p
    tail = lax.min(p, q)
    valid = (df > 0.0) & (tail > 0.0)
    df1, small = choose(valid, df, 1.0), choose(valid, tail, 0.25)
    outer = small < 0.25
    half, other = 0.5 * df1, lax.full_like(df1, 0.5)
    y, rest_of_y = 2.0 * small, 1.0 - 2.0 * small
    centre = choose(rest_of_y > 0.0, rest_of_y, 0.5)
    logit, short = beta_logit(
        choose(outer, half, other), choose(outer, other, half), choose(outer, y, centre),
        choose(outer, rest_of_y, choose(rest_of_y > 0.0, y, 0.5)),
    )  # fmt: skip
    ratio = choose(outer, -logit, logit)
    size = lax.sqrt(df1) * lax.exp(0.5 * ratio) * (1.0 + 0.5 * choose(outer, -short, short))
    size = choose(rest_of_y > 0.0, size, 0.0)
    # Far out the tail is a power of x.
    log_x = (lax.log(y * half) + log_betas(half, other)) / half
    far = outer & (log_x < -0.4 * math.log(largest(df)))
    size = choose(far, lax.exp(0.5 * (lax.log(df1) - log_x)), size)
    out = choose(p < q, -size, size)
    ends = choose(p == 0.0, -math.inf, q == 0.0, lax.full_like(p, math.inf), math.nan)
    return choose(valid, out, df > 0.0, ends, math.nan)


students = define(
    "stdtr", "df t", student,
    [student_by_df, lambda df, t, out: lax.exp(log_student_density(df, t))],
    "the distribution function of Student's t",
)  # fmt: skip
student_inverses = define(
    "stdtrit", "df p", student_quantile,
    [
        lambda df, p, out: -student_by_df(df, out, None) * lax.exp(-log_student_density(df, out)),
        lambda df, p, out: lax.exp(-log_student_density(df, out)),
    ],
    "the quantile of Student's t",
)  # fmt: skip


__all__ = [
    "beta_complement_inverses",
    "beta_inverses",
    "gamma_complement_inverses",
    "gamma_inverses",
    "student_inverses",
    "students",
]
