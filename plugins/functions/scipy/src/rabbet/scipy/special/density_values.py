"""Logarithms of the densities of the gamma and the beta family, without the large terms that cancel.

Near the mean a density is a product of powers and factorials whose logarithms are large and cancel. C. Loader
("Fast and accurate computation of binomial probabilities", 2000) writes it as the distance from the mean, and
what Stirling's formula leaves; both are small.
"""

import math

import rabbet.numpy as rnp
from rabbet import lax
from rabbet.scipy.special.gamma_values import digamma_step, real_digamma
from rabbet.scipy.special.numerics import (
    STIRLING_FROM,
    choose,
    epsilon,
    is_double,
    polynomial,
    stirling_error,
    x_log,
)
from rabbet.scipy.special.primitive_factory import define

HALF_LOG_2_PI = 0.5 * math.log(2.0 * math.pi)


def stirling_rest(z):
    """``log z!`` less Stirling's ``(z + 1/2) log z - z + log(2 pi) / 2``, for ``z > 0``."""
    large = z >= STIRLING_FROM
    far, near = choose(large, z, STIRLING_FROM), choose(large, 1.0, z)
    direct = lax.lgamma(near + 1.0) - (near + 0.5) * lax.log(near) + near - HALF_LOG_2_PI
    return choose(large, stirling_error(far), direct)


def distance(u):
    """``u - log(1 + u)`` for ``|u| <= 1/2``, accurate near 0."""
    t = u / (u + 2.0)  # log(1 + u) is 2 artanh(t)
    square = t * t
    terms = [2.0 / (2 * k + 3) for k in range(17 if is_double(u) else 8)]
    return t * (u - square * polynomial(square, terms))


def powers(weight, off, log_x, log_mean, less):
    """``weight log(x / mean) - off - less log x``, where ``off`` is ``weight (x / mean - 1)``; ``less`` is 0
    or 1. Far from the mean powers of ``x`` are taken together, so that those that cancel do so exactly.
    """
    u = off / weight
    near = lax.abs(u) < 0.5
    close = -weight * distance(choose(near, u, 0.0)) - less * log_x
    apart = x_log(weight - less, log_x) - weight * log_mean
    # The products of large weights would be infinite.
    far = choose(weight > 2.0, weight * (log_x - log_mean) - less * log_x, apart) - off
    # Not that far the quotient is known better than the difference of its logarithms.
    beside = (u > -0.9) & (u < 100.0)
    middle = weight * lax.log1p(choose(beside, u, 0.0)) - less * log_x - off
    return choose(near, close, beside, middle, far)


def over(power, x):
    """``power / x``, 0 where both are 0; where ``power`` alone is 0 it still has its slope."""
    both = (power == 0.0) & (x == 0.0)
    return choose(both, 0.0, power / choose(both, 1.0, x))


# ------------------------------------------------------------------------------------------ gamma family
def log_gamma_density(a, x):
    """``log(x ** (a - 1) exp(-x) / gamma(a))`` for ``x >= 0``; NaN for no valid shape."""
    shape, endless = (a > 0.0) & (a < math.inf), a == math.inf
    inside = shape & (x > 0.0) & (x < math.inf)
    a, x1 = choose(shape, a, 1.0), choose(inside, x, 1.0)
    log_a = lax.log(a)
    value = powers(a, x1 - a, lax.log(x1), log_a, 1.0) + 0.5 * log_a - HALF_LOG_2_PI - stirling_rest(a)
    at_zero = choose(a < 1.0, math.inf, a > 1.0, -math.inf, lax.full_like(a, 0))
    gone = (shape & (x == math.inf)) | (endless & (x < math.inf))
    return choose(inside, value, shape & (x == 0.0), at_zero, gone, -math.inf, math.nan)


log_gamma_densities = define(
    "log_gamma_density", "a x", log_gamma_density,
    [lambda a, x, out: lax.log(x) - real_digamma(a), lambda a, x, out: over(a - 1.0, x) - 1.0],
    "log of the density of a gamma variable",
)  # fmt: skip


def log_poisson(k, mu):
    """``log(mu ** k exp(-mu) / k!)`` for ``k >= 0`` and ``mu >= 0``."""
    inside = (k > 0.0) & (mu > 0.0) & (k < math.inf)
    a, x = choose(inside, k, 1.0), choose(inside, mu, 1.0)
    log_a = lax.log(a)
    value = powers(a, x - a, lax.log(x), log_a, 0.0) - 0.5 * log_a - HALF_LOG_2_PI - stirling_rest(a)
    return choose(inside, value, x_log(k, lax.log(mu)) - mu)


log_poissons = define(
    "log_poisson", "k mu", log_poisson,
    [lambda k, mu, out: lax.log(mu) - real_digamma(k + 1.0), lambda k, mu, out: over(k, mu) - 1.0],
    "log of the probabilities of Poisson's distribution",
)  # fmt: skip


# ------------------------------------------------------------------------------------------- beta family
def beta_powers(a, b, off, logs, less):
    """``log(x ** a rest ** b)`` less its largest value, and less ``log(x rest)`` if ``less`` is 1.

    Args:
      off: ``x b - rest a`` with ``rest = 1 - x``.
      logs: the logarithms of ``x`` and of ``rest``.
    """
    return powers(a, off, logs[0], log_share(a, b), less) + powers(b, -off, logs[1], log_share(b, a), less)


def log_share(a, b):
    """``log(a / (a + b))``; the quotient may be no number."""
    far = a < 0.01 * epsilon(a) * b
    return choose(far, lax.log(a) - lax.log(b), -lax.log1p(choose(far, 0.0, b / choose(far, 1.0, a))))


def of_shares(a, b, x, less):
    """``beta_powers`` of a number ``x``."""
    return beta_powers(a, b, x * b - (1.0 - x) * a, (lax.log(x), lax.log1p(-x)), less)


def beta_rests(*pairs):
    """Of each pair ``(a, b)`` what Stirling's formula leaves in ``log(a! b! / (a + b)!)``."""
    # All at once, which takes a third of the time to compile.
    rests = stirling_rest(rnp.stack([z for a, b in pairs for z in (a, b, a + b)]))
    return [rests[3 * i] + rests[3 * i + 1] - rests[3 * i + 2] for i in range(len(pairs))]


def log_harmonic(a, b):
    """``log(a b / (a + b))``."""
    small = lax.min(a, b)
    return lax.log(small) - lax.log1p(small / lax.max(a, b))


def log_beta_density(a, b, x):
    """``log(x ** (a - 1) (1 - x) ** (b - 1) / B(a, b))``, for ``0 <= x <= 1``; NaN for no valid shape."""
    shapes = (a > 0.0) & (b > 0.0) & (a < math.inf) & (b < math.inf)
    inside = shapes & (x > 0.0) & (x < 1.0)
    a, b, x1 = choose(shapes, a, 1.0), choose(shapes, b, 1.0), choose(inside, x, 0.5)
    value = of_shares(a, b, x1, 1.0)
    value = value + 0.5 * log_harmonic(a, b) - HALF_LOG_2_PI - beta_rests((a, b))[0]
    near, far = choose(x == 0.0, a, b), choose(x == 0.0, b, a)
    at_end = choose(near < 1.0, math.inf, near > 1.0, -math.inf, lax.log(far))
    return choose(inside, value, shapes & ((x == 0.0) | (x == 1.0)), at_end, math.nan)


log_beta_densities = define(
    "log_beta_density", "a b x", log_beta_density,
    [
        lambda a, b, x, out: lax.log(x) + digamma_step(a, b),
        lambda a, b, x, out: lax.log1p(-x) + digamma_step(b, a),
        lambda a, b, x, out: over(a - 1.0, x) - over(b - 1.0, 1.0 - x),
    ],
    "log of the density of a beta variable",
)  # fmt: skip


def log_binomial(k, n, p):
    """``log`` of the probability of ``k`` in ``n`` trials, for ``0 <= k <= n`` and ``0 <= p <= 1``."""
    inside = (k > 0.0) & (n - k > 0.0) & (p > 0.0) & (p < 1.0)
    a, b, x = choose(inside, k, 1.0), choose(inside, n - k, 1.0), choose(inside, p, 0.5)
    value = of_shares(a, b, x, 0.0)
    value = value - 0.5 * log_harmonic(a, b) - HALF_LOG_2_PI - beta_rests((a, b))[0]
    return choose(inside, value, x_log(k, lax.log(p)) + x_log(n - k, lax.log1p(-p)))


log_binomials = define(
    "log_binomial", "k n p", log_binomial,
    [
        lambda k, n, p, out: lax.log(p) - lax.log1p(-p) + real_digamma(n - k + 1.0) - real_digamma(k + 1.0),
        lambda k, n, p, out: lax.log1p(-p) + digamma_step(n - k + 1.0, k),
        lambda k, n, p, out: over(k, p) - over(n - k, 1.0 - p),
    ],
    "log of the probabilities of the binomial distribution",
)  # fmt: skip


def log_negative_binomial(k, n, p):
    """``log`` of the probability of ``k`` failures before success number ``n``, for ``k >= 0``, ``n > 0`` and
    ``0 < p <= 1``.
    """
    inside = (k > 0.0) & (p < 1.0) & (n < math.inf)
    a, b, x = choose(inside, n, 1.0), choose(inside, k, 1.0), choose(inside, p, 0.5)
    value = of_shares(a, b, x, 0.0)
    value = value - 0.5 * log_harmonic(a, b) - HALF_LOG_2_PI - beta_rests((a, b))[0]
    value = value + log_share(a, b)
    return choose(inside, value, x_log(n, lax.log(p)) + x_log(k, lax.log1p(-p)))


log_negative_binomials = define(
    "log_negative_binomial", "k n p", log_negative_binomial,
    [
        lambda k, n, p, out: lax.log1p(-p) + digamma_step(k + 1.0, n - 1.0),
        lambda k, n, p, out: lax.log(p) + digamma_step(n, k),
        lambda k, n, p, out: over(n, p) - over(k, 1.0 - p),
    ],
    "log of the probabilities of the negative binomial distribution",
)  # fmt: skip


def part(a, b, total):
    """``a b / total``, whose quotients may be too small numbers."""
    return lax.max(a, b) / total * lax.min(a, b)


def log_beta_binomial(k, n, a, b):
    """``log`` of ``C(n, k) B(k + a, n - k + b) / B(a, b)``, for ``0 <= k <= n`` and positive shapes."""
    c, d = k + a, n - k + b
    # With the mean p of the beta distribution above: binomial probabilities at p, times the density of a beta
    # variable with the shapes a and b there, divided by that with the shapes c and d, which is at its mean.
    total = c + d
    off, logs = part(k, b, total) - part(n - k, a, total), (log_share(c, d), log_share(d, c))
    inside = (k > 0.0) & (n - k > 0.0)
    j, m = choose(inside, k, 1.0), choose(inside, n - k, 1.0)
    of_count, of_shapes, of_both = beta_rests((j, m), (a, b), (c, d))
    count = (
        beta_powers(j, m, choose(inside, -off, 0.0), logs, 0.0)
        - 0.5 * log_harmonic(j, m)
        - HALF_LOG_2_PI
        - of_count
    )
    count = choose(inside, count, k > 0.0, k * logs[0], n > 0.0, n * logs[1], 0.0)
    value = beta_powers(a, b, off, logs, 0.0) + 0.5 * (log_harmonic(a, b) - log_harmonic(c, d))
    return choose(total < math.inf, count + value - of_shapes + of_both, math.nan)


log_beta_binomials = define(
    "log_beta_binomial", "k n a b", log_beta_binomial,
    [
        lambda k, n, a, b, out: (
            real_digamma(n - k + 1.0) - real_digamma(k + 1.0) + real_digamma(k + a) - real_digamma(n - k + b)
        ),
        lambda k, n, a, b, out: digamma_step(n - k + 1.0, k) - digamma_step(n - k + b, k + a),
        lambda k, n, a, b, out: digamma_step(a, b) - digamma_step(k + a, n - k + b),
        lambda k, n, a, b, out: digamma_step(b, a) - digamma_step(n - k + b, k + a),
    ],
    "log of the probabilities of the beta-binomial distribution",
)  # fmt: skip

__all__ = [
    "log_beta_binomials", "log_beta_densities", "log_binomials", "log_gamma_densities",
    "log_negative_binomials", "log_poissons",
]  # fmt: skip
