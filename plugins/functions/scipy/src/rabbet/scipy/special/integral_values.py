"""The algorithms of integrals of elementary functions, and their primitives: exponential, trigonometric,
Fresnel's, and Spence's.

Chebyshev series near 0, and of the auxiliary functions far from it (NIST DLMF 6.2, 7.2). ``expn`` is its
power series up to 1 and its continued fraction beyond (DLMF 8.19.8, 8.19.17); Spence's function is Debye's
series in the logarithm (DLMF 25.12.6 and 24.2.1).
"""

import math

import rabbet.numpy as rnp
from rabbet import lax
from rabbet.scipy.special import tables
from rabbet.scipy.special.gamma_values import real_digamma
from rabbet.scipy.special.numerics import (
    chebyshev,
    choose,
    cos_pi,
    epsilon,
    nearest,
    polynomial,
    sin_pi,
    whole,
)
from rabbet.scipy.special.primitive_factory import NoDerivative, define

EULER = 0.57721566490153286061
HALF_PI = 0.5 * math.pi
# B(2k) / (2k + 1)!, for k = 1, 2, ...
DEBYE = (
    1 / 36, -1 / 3600, 1 / 211680, -1 / 10886400, 1 / 526901760, -691 / 16999766784000, 1 / 1120863744000,
    -3617 / 181400588328960000, 43867 / 97072790126247936000,
)  # fmt: skip
MOST_STEPS = 200


# ---------------------------------------------------------------------------------------------- exponential
def first_exponential(x):
    """``E1(x)`` for ``x > 0``."""
    near = lax.clamp(0.0, x, 1.0)
    terms = [(-1.0) ** k / (math.factorial(k + 1) * (k + 1)) for k in range(18)]
    small = near * polynomial(near, terms) - EULER - lax.log(near)
    far = lax.max(x, 1.0)
    t = 1.0 - 6.0 / (lax.min(far, 1e30) + 2.0)
    large = chebyshev(t, tables.E1, -1.0, 1.0) * lax.exp(-far) / far
    return choose(x < 1.0, small, large)


def exponential_integral(x):
    """``Ei(x)``."""
    short, rest = tables.EI_ROOT
    near = lax.clamp(0.0, x, 6.0)
    off = (near - short) - rest
    ratio = off * (1.0 / (short + rest))
    log = choose(lax.abs(ratio) < 0.5, lax.log1p(ratio), lax.log(near) - math.log(short + rest))
    small = log + off * chebyshev(near, tables.EI_NEAR, 0.0, 6.0)
    far = lax.max(x, 6.0)
    u = 1.0 / far
    scaled = choose(
        far < 12.0, chebyshev(u, tables.EI_FROM_6, 1 / 12, 1 / 6),
        far < 24.0, chebyshev(u, tables.EI_FROM_12, 1 / 24, 1 / 12),
        chebyshev(u, tables.EI_FROM_24, 0.0, 1 / 24),
    )  # fmt: skip
    half = lax.exp(0.5 * far)
    large = choose(far > 1000.0, math.inf, scaled * u * half * half)
    positive = choose(x < 6.0, small, large)
    return choose(x > 0.0, positive, x < 0.0, -first_exponential(-x), x == 0.0, -math.inf, x)


def general_exponential(n, x):
    """``E_n(x)`` for whole ``n >= 0`` and ``x >= 0``."""
    near = choose(x > 0.0, lax.min(x, 1.0), 1.0)
    # DLMF 8.19.8: the term number n - 1 is a logarithm; past number 20 none counts.
    power, series = lax.full_like(x, 1), lax.full_like(x, 0)
    at = lax.max(n, 1.0) - 1.0
    special = real_digamma(at + 1.0) - lax.log(near)
    for k in range(21):
        # The power at n - 1 belongs to the logarithm too.
        bottom = choose(at == float(k), 1.0, float(k) - at)
        series = series + choose(at == float(k), power * special, -power / bottom)
        power = power * (-near / float(k + 1))
    fraction = lax.exp(-x) * exponential_fraction(n, lax.max(x, 1.0))
    out = choose(n == 0.0, lax.exp(-x) / x, x > 1.0, fraction, series)
    out = choose(x == 0.0, choose(n > 1.0, 1.0 / choose(n > 1.0, n - 1.0, 1.0), math.inf), out)
    return choose(x == math.inf, 0.0, (x >= 0.0) & (n >= 0.0) & whole(n), out, math.nan)


def exponential_fraction(n, x):
    """The continued fraction of ``exp(x) E_n(x)``, DLMF 8.19.17, by the modified method of Lentz."""
    eps = 2.0 * epsilon(x)

    def more(state):
        k, _, _, _, _, change = state
        return rnp.any(lax.abs(change) > eps) & (k < float(MOST_STEPS))

    def step(state):
        k, b, c, d, h, change = state
        k, b = k + 1.0, b + 2.0
        top = -k * (n - 1.0 + k)
        d = 1.0 / (top * d + b)
        c = b + top / c
        ratio = choose(lax.abs(change) > eps, c * d, 1.0)
        return k, b, c, d, h * ratio, ratio - 1.0

    b = x + n
    start = (lax.full_like(b, 0, shape=()), b, lax.full_like(b, 1e30), 1.0 / b, 1.0 / b, lax.full_like(b, 1))
    return lax.while_loop(more, step, start)[4]


# -------------------------------------------------------------------------------------------- trigonometric
def auxiliary(x):
    """The auxiliary functions f and g, for ``x >= 4``."""
    u = 1.0 / (x * x)
    middle = x < 8.0
    f = choose(
        middle,
        chebyshev(u, tables.SICI_F_MIDDLE, 1 / 64, 1 / 16),
        chebyshev(u, tables.SICI_F_FAR, 0.0, 1 / 64),
    )
    g = choose(
        middle,
        chebyshev(u, tables.SICI_G_MIDDLE, 1 / 64, 1 / 16),
        chebyshev(u, tables.SICI_G_FAR, 0.0, 1 / 64),
    )
    return f / x, g * u


def sine_integral_of(x):
    size = lax.abs(x)
    near = lax.min(size, 4.0)
    f, g = auxiliary(lax.max(size, 4.0))
    far = HALF_PI - f * lax.cos(size) - g * lax.sin(size)
    out = choose(size < 4.0, near * chebyshev(near * near, tables.SI_NEAR, 0.0, 16.0), far)
    out = choose(size == math.inf, HALF_PI, out)
    return choose(x < 0.0, -out, out)


def cosine_integral_of(x):
    """``Ci(|x|)``, as in SciPy."""
    size = lax.abs(x)
    near = lax.min(size, 4.0)
    u = near * near
    small = EULER + lax.log(near) + u * chebyshev(u, tables.CI_NEAR, 0.0, 16.0)
    f, g = auxiliary(lax.max(size, 4.0))
    out = choose(size < 4.0, small, f * lax.sin(size) - g * lax.cos(size))
    return choose(x == math.inf, 0.0, x == -math.inf, math.nan, out)


def fresnel_auxiliary(x):
    """Fresnel's auxiliary functions f and g, for ``x >= 1.6``."""
    inverse = 1.0 / x
    squared = inverse * inverse
    u = squared * squared
    low, high = 2.5**-4, 1.6**-4
    middle = x < 2.5
    f = choose(
        middle, chebyshev(u, tables.FRESNEL_F_MIDDLE, low, high), chebyshev(u, tables.FRESNEL_F_FAR, 0.0, low)
    )
    g = choose(
        middle, chebyshev(u, tables.FRESNEL_G_MIDDLE, low, high), chebyshev(u, tables.FRESNEL_G_FAR, 0.0, low)
    )
    return f * inverse, g * inverse * squared


def half_square_turn(x):
    """``x ** 2 / 2`` less a whole even number, without the error of a large square."""
    n = nearest(x)
    part = x - n
    odd = n - 2.0 * lax.floor(0.5 * n)
    # n^2 is 0 or 1 to the modulus 4.
    cross = n * part
    return 0.5 * odd + (cross - 2.0 * nearest(0.5 * cross)) + 0.5 * part * part


def _fresnel(x, near, far):
    size = lax.abs(x)
    turn = half_square_turn(lax.min(size, 1e15))
    sine, cosine = sin_pi(turn), cos_pi(turn)
    f, g = fresnel_auxiliary(lax.max(size, 1.6))
    out = choose(size < 1.6, near(lax.min(size, 1.6)), far(f, g, sine, cosine))
    out = choose(size == math.inf, 0.5, out)
    return choose(x < 0.0, -out, out)


def fresnel_sine_of(x):
    def near(y):
        return y * y * y * chebyshev((y * y) * (y * y), tables.FRESNEL_S, 0.0, 1.6**4)

    return _fresnel(x, near, lambda f, g, s, c: 0.5 - f * c - g * s)


def fresnel_cosine_of(x):
    def near(y):
        return y * chebyshev((y * y) * (y * y), tables.FRESNEL_C, 0.0, 1.6**4)

    return _fresnel(x, near, lambda f, g, s, c: 0.5 + f * s - g * c)


# ------------------------------------------------------------------------------------------------- Spence
def spence_of(z):
    """The integral of ``log(t) / (1 - t)`` from 1 to ``z``."""
    large = z > 2.0
    inner = choose(large, 1.0 / lax.max(z, 1.0), z)
    small = inner < 0.5
    at = choose(small, 1.0 - inner, inner)
    w = 0.0 - choose(small, lax.log1p(-lax.min(inner, 0.5)), lax.log(lax.max(at, 0.5)))
    squared = w * w
    series = w - 0.25 * squared + w * squared * polynomial(squared, DEBYE)
    product = lax.log(lax.max(inner, 0.0)) * lax.log1p(-lax.min(inner, 0.5))
    reflected = math.pi**2 / 6 - choose(inner == 0.0, 0.0, product) - series
    value = choose(small, reflected, series)
    log = lax.log(lax.max(z, 1.0))
    out = choose(large, -0.5 * log * log - value, value)
    return choose(z >= 0.0, choose(z == math.inf, -math.inf, out), math.nan)


# -------------------------------------------------------------------------------------------- the primitives
ORDER = NoDerivative("it is defined for whole numbers alone")


def expn_slope(n, x, out):
    """``-E_(n - 1)``, which for ``n = 0`` is ``-exp(-x) (1 + 1 / x) / x``."""
    lowest = lax.exp(-x) * (1.0 + 1.0 / x) / x
    return -choose(n >= 1.0, exponentials(lax.max(n - 1.0, 0.0), x), lowest)


def spence_slope(z, out):
    off = z - 1.0
    near = lax.abs(off) < 1e-3
    series = -1.0 + off * (0.5 + off * (-1 / 3 + off * (0.25 - off * (0.2 - off / 6))))
    return choose(near, series, -lax.log(z) / choose(near, 1.0, off))


def _over(function, x):
    """``function(x) / x``, which is 1 at 0."""
    zero = x == 0.0
    return choose(zero, 1.0, function(x) / choose(zero, 1.0, x))


exponential = define("expi", "x", exponential_integral, [lambda x, out: lax.exp(x) / x], "Ei(x)", weak=False)
exponentials = define("expn", "n x", general_exponential, [ORDER, expn_slope], "E_n(x)", weak=False)
sine_integral = define(
    "sine_integral", "x", sine_integral_of, [lambda x, out: _over(lax.sin, x)], "Si(x)", weak=False
)
cosine_integral = define(
    "cosine_integral", "x", cosine_integral_of, [lambda x, out: lax.cos(x) / x], "Ci(|x|)", weak=False
)
fresnel_sine = define(
    "fresnel_sine", "x", fresnel_sine_of, [lambda x, out: sin_pi(half_square_turn(x))], "Fresnel's S(x)",
    weak=False,
)  # fmt: skip
fresnel_cosine = define(
    "fresnel_cosine", "x", fresnel_cosine_of, [lambda x, out: cos_pi(half_square_turn(x))], "Fresnel's C(x)",
    weak=False,
)  # fmt: skip
spences = define("spence", "z", spence_of, [spence_slope], "the dilogarithm of 1 - z", weak=False)

__all__ = [
    "cosine_integral",
    "exponential",
    "exponentials",
    "fresnel_cosine",
    "fresnel_sine",
    "sine_integral",
    "spences",
]
