"""The algorithms of the gamma function and its logarithmic derivatives, and their primitives.

``gamma`` is a Chebyshev series on 2 .. 3, carried to 10 by its recurrence, and Stirling's formula beyond
(DLMF 5.11); zeta is the Euler-Maclaurin formula (DLMF 25.11.28 without its integral), which is smooth in both
arguments. Complex arguments are moved to where Stirling's formula serves (DLMF 5.5, 5.11), as D. E. G. Hare
does it ("Computing the principal branch of log-Gamma", 1997).
"""

import math

import rabbet.numpy as rnp
from rabbet import lax
from rabbet.scipy.special import tables
from rabbet.scipy.special.numerics import (
    STIRLING,
    STIRLING_FROM,
    chebyshev,
    choose,
    cos_pi,
    nearest,
    polynomial,
    sin_pi,
    stirling_error,
    whole,
)
from rabbet.scipy.special.primitive_factory import BY_DIFFERENTIATION, NoDerivative, define

ROOT_2_PI = math.sqrt(2.0 * math.pi)
# B(2k) / (2k)!, for k = 1, 2, ...
EULER_MACLAURIN = (
    1 / 12, -1 / 720, 1 / 30240, -1 / 1209600, 1 / 47900160, -691 / 1307674368000, 1 / 74724249600,
    -3617 / 10670622842880000, 43867 / 5109094217170944000, -174611 / 802857662698291200000,
    77683 / 14101100039391805440000, -236364091 / 1693824136731743669452800000,
)  # fmt: skip
# Where the sums of zeta stop, and how far below zero its terms are followed.
ZETA_TERMS = 10
DEEPEST = 10000


# ------------------------------------------------------------------------------------------------ real gamma
def gamma_of_positive(x):
    """``gamma(x)`` for ``x > 0``."""
    near = lax.clamp(0.0, x, STIRLING_FROM)
    steps = lax.floor(near) - 2.0
    product = lax.full_like(x, 1)
    for k in range(1, int(STIRLING_FROM) - 1):
        product = product * choose(steps >= float(k), near - float(k), 1.0)
    # Below 2 the recurrence goes the other way.
    divisor = choose(near < 1.0, near * (near + 1.0), near < 2.0, near, 1.0)
    small = chebyshev(near - steps, tables.GAMMA, 2.0, 3.0) * product / divisor
    far = lax.max(x, STIRLING_FROM)
    power = lax.pow(far, 0.5 * far)
    rest = ROOT_2_PI * lax.rsqrt(far) * lax.exp(stirling_error(far))
    large = power * lax.exp(-far) * rest * power
    # A product of infinity and 0 stands for what is beyond the largest float.
    large = choose(large == large, large, math.inf)
    return choose(x != x, x, x < STIRLING_FROM, small, large)


def gamma_of_real(x):
    """``gamma(x)``: infinite at 0 with its sign, NaN at -1, -2, ... as in SciPy."""
    size = lax.abs(x)
    reflected = -math.pi / (sin_pi(size) * gamma_of_positive(size)) / size
    negative = choose(whole(x), math.nan, reflected)
    return choose(x > 0.0, gamma_of_positive(size), x == 0.0, 1.0 / x, x < 0.0, negative, x)


def digamma_of_real(x):
    """Core's, and beside its root, where that loses digits, the distance to it times a Chebyshev series."""
    short, rest = tables.DIGAMMA_ROOT
    near = ((x - short) - rest) * chebyshev(x, tables.DIGAMMA, 1.0, 2.0)
    return choose(lax.abs(x - 1.5) <= 0.45, near, lax.digamma(x))


# --------------------------------------------------------------------------------------------- complex gamma
def log_gamma_of_complex(z):
    """The branch of ``log gamma(z)`` that is cut along the negative axis alone."""
    left = lax.real(z) < 0.5
    w = choose(left, 1.0 - z, z)
    terms = int(STIRLING_FROM)
    logs = lax.log(w)
    for k in range(1, terms):
        logs = logs + lax.log(w + float(k))
    u = w + float(terms)
    inverse = 1.0 / u
    series = inverse * polynomial(inverse * inverse, STIRLING)
    right = (u - 0.5) * lax.log(u) - u + 0.5 * math.log(2.0 * math.pi) + series - logs
    x, y = lax.real(z), lax.imag(z)
    turns = choose(y < 0.0, -2.0 * math.pi, 2.0 * math.pi + 0.0 * y) * lax.floor(0.5 * x + 0.25)
    reflected = lax.complex(lax.full_like(x, math.log(math.pi)), turns) - log_sine_pi(z) - right
    pole = (y == 0.0) & (x <= 0.0) & whole(x)
    return choose(pole, lax.complex(lax.full_like(x, math.inf), 0.0 * x), left, reflected, right)


def log_sine_pi(z):
    """``log sin(pi z)``, without overflow: far from the axis sine is half an exponential."""
    x, y = lax.real(z), lax.imag(z)
    size = lax.abs(y)
    decay = lax.exp(-2.0 * math.pi * size)
    # sin(pi z) exp(-pi |y|), by cosh and sinh without their growth.
    real, imaginary = sin_pi(x) * (1.0 + decay), cos_pi(x) * -lax.expm1(-2.0 * math.pi * size) * lax.sign(y)
    return lax.log(0.5 * lax.complex(real, imaginary)) + math.pi * size


def digamma_of_complex(z):
    """By the recurrence, the series of Stirling's formula and the reflection."""
    left = lax.real(z) < 0.5
    w = choose(left, 1.0 - z, z)
    terms = int(STIRLING_FROM)
    total = 1.0 / w
    for k in range(1, terms):
        total = total + 1.0 / (w + float(k))
    u = w + float(terms)
    squared = 1.0 / (u * u)
    series = squared * polynomial(squared, [(2 * k + 1) * c for k, c in enumerate(STIRLING)])
    right = lax.log(u) - 0.5 / u - series - total
    turned = math.pi * lax.complex(lax.real(z) - nearest(lax.real(z)), lax.imag(z))
    return choose(left, right - math.pi / lax.tan(turned), right)


# -------------------------------------------------------------------------------------------------- zeta
def zeta_from(x, q):
    """Hurwitz's zeta function for ``q > 0`` by the formula of Euler and Maclaurin."""
    total = lax.pow(q, -x)
    for k in range(1, ZETA_TERMS):
        total = total + lax.pow(q + float(k), -x)
    a = q + float(ZETA_TERMS)
    power = lax.pow(a, -x)
    total = total + power * a / (x - 1.0) + 0.5 * power
    factor = x * power / a
    for j, c in enumerate(EULER_MACLAURIN):
        total = total + c * factor
        factor = factor * ((x + (2.0 * j + 1.0)) / a) * ((x + (2.0 * j + 2.0)) / a)
    return total


def hurwitz(x, q):
    """``zeta(x, q)`` for ``x > 1``. For ``q <= 0``, where it is real for whole ``x`` only, the terms before
    the first positive one are added in a loop.
    """
    below = (q <= 0.0) & (q > -DEEPEST)
    steps = choose(below, 1.0 - lax.ceil(q), 0.0)

    def more(state):
        k, _ = state
        return rnp.any(k < steps)

    def step(state):
        k, total = state
        return k + 1.0, total + choose(k < steps, _power_of_any(q + k, x), 0.0)

    _, total = lax.while_loop(more, step, (lax.full_like(q, 0), lax.full_like(q, 0)))
    moved = choose(below, q + steps, q)
    out = zeta_from(x, lax.max(moved, 1e-300 if q.dtype == "float64" else 1e-37)) + total
    out = choose(whole(q) & (q <= 0.0), math.inf, (q <= 0.0) & ~(whole(x) & below), math.nan, out)
    out = choose(q == math.inf, 0.0, x == math.inf, at_infinity(q), out)
    return choose(x == 1.0, math.inf, x > 1.0, out, math.nan)


def at_infinity(q):
    """The limit of ``zeta(x, q)`` for large ``x``."""
    return choose(q < 1.0, math.inf, q == 1.0, 1.0, q > 1.0, 0.0, q)


def _power_of_any(base, x):
    """``base ** -x`` for a base of any sign and a whole ``x``."""
    power = lax.pow(lax.abs(base), -x)
    odd = x - 2.0 * lax.floor(0.5 * x) == 1.0
    return choose((base < 0.0) & odd, -power, power)


def riemann(x):
    """``zeta(x)``, below 0 by the reflection (DLMF 25.4.2)."""
    one = lax.full_like(x, 1)
    right = lax.max(choose(x < 0.0, 1.0 - x, x), 0.0)
    value = zeta_from(right, one)
    # The reflection, with gamma(1 - x) by the duplication formula, so that no factor overflows before the
    # product.
    power, half = lax.pow(math.pi * one, 0.5 * x), 0.5 * (1.0 - lax.min(x, 0.0))
    reflected = power * gamma_of_positive(half) * sin_pi(0.5 * x) * power * gamma_of_positive(half + 0.5)
    reflected = reflected * value * math.pi**-1.5
    return choose(
        x == 1.0, math.inf, x == math.inf, 1.0, x >= 0.0, value, whole(0.5 * x), 0.0, x < 0.0, reflected, x
    )


def polygamma_of(n, x):
    """``(-1) ** (n + 1) n! zeta(n + 1, x)``, and digamma for 0; NaN for other than whole orders from 0 on."""
    odd = n - 2.0 * lax.floor(0.5 * n) == 1.0
    size = gamma_of_positive(n + 1.0) * hurwitz(lax.max(n, 1.0) + 1.0, x)
    value = choose(n == 0.0, digamma_of_real(x), choose(odd, size, -size))
    return choose(whole(n) & (n >= 0.0), value, math.nan)


# -------------------------------------------------------------------------------------------- the primitives
ORDER = NoDerivative("it is defined for whole numbers alone")

real_gamma = define(
    "scipy_gamma", "x", gamma_of_real, [lambda x, out: out * real_digamma(x)], "the gamma function"
)
real_digamma = define(
    "scipy_digamma", "x", digamma_of_real, [lambda x, out: polygammas(lax.full_like(x, 1), x)],
    "the derivative of log gamma",
)  # fmt: skip
polygammas = define(
    "scipy_polygamma", "n x", polygamma_of, [ORDER, lambda n, x, out: polygammas(n + 1.0, x)],
    "the derivative number n of digamma",
)  # fmt: skip
zetas = define(
    "scipy_zeta", "x q", hurwitz,
    [BY_DIFFERENTIATION, lambda x, q, out: -x * zetas(x + 1.0, q)], "Hurwitz's zeta function",
)  # fmt: skip
riemann_zeta = define("riemann_zeta", "x", riemann, [BY_DIFFERENTIATION], "Riemann's zeta function")
complex_log_gamma = define(
    "complex_log_gamma", "z", log_gamma_of_complex, [lambda z, out: complex_digamma(z)],
    "log gamma of complex numbers", kinds="c",
)  # fmt: skip
complex_digamma = define(
    "complex_digamma", "z", digamma_of_complex, [BY_DIFFERENTIATION], "digamma of complex numbers", kinds="c"
)


def digamma_step(a, b):
    """``digamma(a + b) - digamma(a)``, of large numbers without their difference, by Stirling's formula."""
    large = (a > 2.0 * STIRLING_FROM) & (a + b > 2.0 * STIRLING_FROM) & (a < math.inf) & (b < math.inf)
    u, v = choose(large, a, 30.0), choose(large, a + b, 30.0)
    step = choose(large, b, 0.0)
    s, t = 1.0 / u, 1.0 / v
    # The series is t / 2 and the sum of B(2k) / (2k) t ** 2k: q is the quotient of differences of the sums.
    total, moved = lax.full_like(s, 0), lax.full_like(s, 0)
    for k in range(len(STIRLING) - 1, -1, -1):
        moved = moved * t * t + total
        total = total * s * s + (2 * k + 1) * STIRLING[k]
    moved = moved * t * t + total
    apart = s * t * step  # s - t
    far = lax.log1p(step * s) + 0.5 * apart + apart * (s + t) * moved
    return choose(large, far, real_digamma(a + b) - real_digamma(a))


__all__ = [
    "complex_digamma",
    "complex_log_gamma",
    "digamma_step",
    "gamma_of_positive",
    "polygammas",
    "real_digamma",
    "real_gamma",
    "riemann_zeta",
    "zetas",
]
