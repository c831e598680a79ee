"""Poisson's distribution of numbers of rare events, with the mean ``mu >= 0``."""

import math

from rabbet import Array, lax
from rabbet.extend.functions import public_module
from rabbet.scipy.arguments import ArrayLike, elementwise, real
from rabbet.scipy.special.density_values import log_poissons
from rabbet.scipy.special.numerics import choose
from rabbet.scipy.special.primitive_factory import BY_DIFFERENTIATION, define
from rabbet.scipy.stats.standardization import counted, known, within

HALF_WINDOW = 300.0
# Of the logarithm's expansion in powers of 1 / mu (R. J. Evans and J. Boersma, "The entropy of a Poisson
# distribution", 1988).
EXPANSION = (-1 / 12, -1 / 24, -19 / 360, -9 / 80)


def entropy_of(mu):
    """The sum over a window around the mean, and the expansion for large means."""
    near = lax.min(choose(mu > 0.0, mu, 1.0), 600.0)
    low = lax.max(lax.floor(near) - HALF_WINDOW, 0.0)
    log = lax.log(near)

    def step(i, total):
        k = low + lax.convert_element_type(i, mu.dtype)
        logs = k * log - near - lax.lgamma(k + 1.0)
        return total - lax.exp(logs) * logs

    total = lax.fori_loop(0, int(2 * HALF_WINDOW), step, lax.full_like(mu, 0))
    far = lax.max(mu, 500.0)
    w = 1.0 / far
    large = 0.5 * lax.log(2.0 * math.pi * math.e * far)
    power = w
    for c in EXPANSION:
        large, power = large + c * power, power * w
    return choose(mu > 500.0, large, mu > 0.0, total, mu == 0.0, 0.0, math.nan)


entropies = define(
    "poisson_entropy", "mu", entropy_of, [BY_DIFFERENTIATION], "entropy of Poisson's distribution",
    weak=False,
)  # fmt: skip


@elementwise
def logpmf(k: ArrayLike, mu: ArrayLike, loc: ArrayLike = 0) -> Array:
    """The logarithm of the probability of ``k``.

    >>> round(float(stats.poisson.logpmf(2.0, 3.5)), 4)
    -1.6876
    """
    k, mu, inside = counted("poisson.logpmf", k, mu, loc)
    mu = choose(mu >= 0.0, mu, math.nan)
    inside = inside & (mu < math.inf)  # where endlessly many are expected no number has a probability
    j = choose(inside, k, 0.0)
    return within(known(k, mu), inside, log_poissons(j, mu), -math.inf)


@elementwise
def pmf(k: ArrayLike, mu: ArrayLike, loc: ArrayLike = 0) -> Array:
    """The probability of ``k``.

    >>> round(float(stats.poisson.pmf(2.0, 3.5)), 4)
    0.185
    """
    return lax.exp(logpmf(k, mu, loc))


@elementwise
def cdf(k: ArrayLike, mu: ArrayLike, loc: ArrayLike = 0) -> Array:
    """The probability of at most ``k``.

    >>> round(float(stats.poisson.cdf(2.0, 3.5)), 4)
    0.3208
    """
    k, mu, loc = real("poisson.cdf", k, mu, loc)
    at = lax.floor(k - loc)
    mu = choose(mu >= 0.0, mu, math.nan)
    some = (at >= 0.0) & (at < math.inf) & (mu < math.inf)
    value = lax.igammac(choose(some, at, 0.0) + 1.0, choose(some, mu, 1.0))
    return within(known(at, mu), some, value, choose(at == math.inf, lax.full_like(at, 1), 0.0))


@elementwise
def entropy(mu: ArrayLike, loc: ArrayLike = 0) -> Array:
    """The entropy, in nats.

    >>> round(float(stats.poisson.entropy(3.5)), 4)
    2.0152
    """
    mu, loc = real("poisson.entropy", mu, loc)
    return entropies(mu) + 0.0 * loc


__all__ = ["cdf", "entropy", "logpmf", "pmf"]

public_module(globals())
