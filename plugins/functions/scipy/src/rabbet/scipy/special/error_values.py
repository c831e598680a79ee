"""The algorithms of the error function's family, and their primitives.

The scaled complement is one Chebyshev series, in the variable of M. M. Shepherd and J. G. Laframboise
("Chebyshev approximation of (1 + 2x) exp(x^2) erfc x", 1981); what decays like ``exp(-x ** 2)`` is that times
an exponential of an exact square. Quantiles are M. J. Wichura's rational functions (algorithm AS 241, 1988).
The complex function is the trapezoidal rule with the residue of the pole (M. Al Azah and S. N.
Chandler-Wilde, "Computation of the complex error function using modified trapezoidal rules", 2021).
"""

import functools
import math

import numpy as np

from rabbet import lax
from rabbet.scipy.special import tables
from rabbet.scipy.special.numerics import (
    chebyshev,
    choose,
    cos_pi,
    epsilon,
    exp_square,
    is_double,
    polynomial,
    sin_pi,
)
from rabbet.scipy.special.primitive_factory import define

ROOT_2 = math.sqrt(2.0)
ROOT_PI = math.sqrt(math.pi)
ROOT_2_PI = math.sqrt(2.0 * math.pi)

# AS 241: numerators and denominators of the middle, of the tails and of the far tails, constant terms first.
MIDDLE = (
    3.3871328727963666080e0, 1.3314166789178437745e2, 1.9715909503065514427e3, 1.3731693765509461125e4,
    4.5921953931549871457e4, 6.7265770927008700853e4, 3.3430575583588128105e4, 2.5090809287301226727e3,
), (
    1.0, 4.2313330701600911252e1, 6.8718700749205790830e2, 5.3941960214247511077e3, 2.1213794301586595867e4,
    3.9307895800092710610e4, 2.8729085735721942674e4, 5.2264952788528545610e3,
)  # fmt: skip
TAIL = (
    1.42343711074968357734e0, 4.63033784615654529590e0, 5.76949722146069140550e0, 3.64784832476320460504e0,
    1.27045825245236838258e0, 2.41780725177450611770e-1, 2.27238449892691845833e-2, 7.74545014278341407640e-4,
), (
    1.0, 2.05319162663775882187e0, 1.67638483018380384940e0, 6.89767334985100004550e-1,
    1.48103976427480074590e-1, 1.51986665636164571966e-2, 5.47593808499534494600e-4,
    1.05075007164441684324e-9,
)  # fmt: skip
FAR_TAIL = (
    6.65790464350110377720e0, 5.46378491116411436990e0, 1.78482653991729133580e0, 2.96560571828504891230e-1,
    2.65321895265761230930e-2, 1.24266094738807843860e-3, 2.71155556874348757815e-5,
    2.01033439929228813265e-7,
), (
    1.0, 5.99832206555887937690e-1, 1.36929880922735805310e-1, 1.48753612908506148525e-2,
    7.86869131145613259100e-4, 1.84631831751005468180e-5, 1.42151175831644588870e-7,
    2.04426310338993978564e-15,
)  # fmt: skip


# ------------------------------------------------------------------------------------------------ real values
def scaled_complement(x):
    """``exp(x ** 2) erfc(x)``."""
    size = lax.abs(x)
    bounded = lax.min(size, 1.0 / epsilon(x))
    t = 1.0 - 7.5 / (bounded + 3.75)
    right = chebyshev(t, tables.ERFCX, -1.0, 1.0) / (1.0 + 2.0 * size)
    return choose(x < 0.0, 2.0 * exp_square(x, 1.0) - right, right)


def complement(x):
    """``erfc(x)``: core's in the middle."""
    far = exp_square(x, -1.0) * scaled_complement(lax.max(x, 0.0))
    return choose(x > 0.5, far, lax.erfc(x))


def normal_probability(x):
    """The distribution function of a standard normal variable."""
    far = 0.5 * exp_square(x, -0.5) * scaled_complement(lax.max(x * (-1.0 / ROOT_2), 0.0))
    return choose(x < -0.7, far, 0.5 * lax.erfc(x * (-1.0 / ROOT_2)))


def log_normal_probability(x):
    """``log`` of the distribution function, also where that underflows."""
    left = lax.min(x, 0.0)
    low = lax.log(0.5 * scaled_complement(left * (-1.0 / ROOT_2))) - 0.5 * left * left
    return choose(x < -1.0, low, lax.log1p(-normal_probability(-x)))


def _ratio(x, rows):
    return polynomial(x, rows[0]) / polynomial(x, rows[1])


def normal_quantile(q, tail, log=None):
    """The quantile of ``1/2 + q``, where ``tail`` is the smaller of that and its complement, known by
    itself, or something with its sign and ``log`` its logarithm.
    """
    middle = q * _ratio(0.180625 - q * q, MIDDLE)
    log = lax.log(lax.min(tail, 0.5)) if log is None else log
    r = lax.sqrt(-log)
    far = choose(r <= 5.0, _ratio(r - 1.6, TAIL), _ratio(lax.min(r, 40.0) - 5.0, FAR_TAIL))
    out = choose(lax.abs(q) <= 0.425, middle, lax.sign(q) * far)
    return choose(tail == 0.0, lax.sign(q) * math.inf, tail > 0.0, out, math.nan)


def quantile_of_probability(p):
    return normal_quantile(p - 0.5, lax.min(p, 1.0 - p))


def inverse_error_function(y):
    return normal_quantile(0.5 * y, 0.5 * (1.0 - lax.abs(y))) * (1.0 / ROOT_2)


def inverse_complement(y):
    tail = lax.min(y, 2.0 - y)
    # Half of the smallest number is none.
    log = choose(tail < 1e-30, lax.log(tail) - math.log(2.0), lax.log(lax.min(0.5 * tail, 0.5)))
    return normal_quantile(0.5 * y - 0.5, tail, log) * (-1.0 / ROOT_2)


def dawson(x):
    """Dawson's integral, by a Chebyshev series on each of three intervals."""
    size = lax.abs(x)
    u = size * size
    near = x * chebyshev(u, tables.DAWSON_NEAR, 0.0, 6.25)
    safe = choose(size < 1.0, 1.0, x)
    far = 1.0 / (safe * safe)
    far = choose(
        size < 5.0, chebyshev(size, tables.DAWSON_MIDDLE, 2.5, 5.0),
        chebyshev(far, tables.DAWSON_FAR, 0.0, 0.04),
    ) / safe  # fmt: skip
    return choose(size < 2.5, near, far)


# --------------------------------------------------------------------------------------------- complex values
NODES = 11
STEP = math.sqrt(math.pi / (NODES + 1))


def faddeeva_above(x, y):
    """``w(x + iy)`` for ``x, y >= 0``, as real and imaginary parts."""
    z = lax.complex(x, y)
    # By the nodes (k + 1/2) h, or by those at k h where z is close to one of the first; then twice the
    # residue.
    place = x * (1.0 / STEP)
    part = place - lax.floor(place)
    plain = y >= lax.max(x, math.pi / STEP)
    whole_nodes = ~plain & (part >= 0.25) & (part <= 0.75)
    shift = choose(whole_nodes, 0.0, 0.5 + 0.0 * x)
    squared = z * z
    total = lax.full_like(z, 0)
    for k in range(NODES + 1):
        node = (shift + float(k)) * STEP
        weight = lax.exp(-node * node)
        if k == 0:  # the node at 0 has no twin on the other side
            weight = choose(whole_nodes, 0.5 * weight, weight)
        total = total + lax.complex(weight, 0.0 * weight) / (squared - lax.complex(node * node, 0.0 * node))
    out = lax.complex(lax.full_like(x, 0), lax.full_like(x, 2.0 * STEP / math.pi)) * z * total
    decay = lax.exp(lax.min((y - x) * (y + x), 40.0))
    angle = -2.0 * x * y
    power = lax.complex(decay * lax.cos(angle), decay * lax.sin(angle))
    growth = lax.exp(lax.min(y * (2.0 * math.pi / STEP), 80.0))
    wave = lax.complex(growth * cos_pi(2.0 * part), -growth * sin_pi(2.0 * part))
    residue = 2.0 * power / choose(whole_nodes, 1.0 - wave, 1.0 + wave)
    out = choose(plain, out, out + residue)
    # Far away, where the square would overflow, one term is all.
    large = lax.max(x, y) > (1e8 if is_double(x) else 1e4)
    scale = lax.max(lax.max(x, y), 1.0)
    u, v = x / scale, y / scale
    size = (u * u + v * v) * scale * ROOT_PI
    out = choose(large, lax.complex(v / size, u / size), out)
    return lax.real(out), lax.imag(out)


def faddeeva_of(z):
    """``exp(-z ** 2) erfc(-iz)``. On the real axis the parts are exact, each by itself."""
    x, y = lax.real(z), lax.imag(z)
    real, imaginary = faddeeva_above(lax.abs(x), lax.abs(y))
    on_axis = y == 0.0
    real = choose(on_axis, exp_square(x, -1.0), real)
    imaginary = choose(on_axis, dawson(lax.abs(x)) * (2.0 / ROOT_PI), imaginary)
    imaginary = choose(x < 0.0, -imaginary, imaginary)
    upper = lax.complex(real, imaginary)
    # w(z) = 2 exp(-z^2) - w(-z), and w(-z) is the conjugate of what was computed.
    growth, angle = lax.exp((y - x) * (y + x)), -2.0 * x * y
    mirrored = lax.complex(2.0 * growth * lax.cos(angle), 2.0 * growth * lax.sin(angle))
    mirrored = mirrored - lax.complex(real, -imaginary)
    return choose(y < 0.0, mirrored, upper)


# -------------------------------------------------------------------------------------------------- Owen's T
@functools.cache
def gauss_nodes(count):
    """Nodes and weights of Gauss and Legendre on 0 .. 1."""
    x, w = np.polynomial.legendre.leggauss(count)
    return [(float(0.5 * (1.0 + a)), float(0.5 * b)) for a, b in zip(x, w, strict=True)]


def owen_integral(h, a):
    """Owen's T for ``h >= 0`` and ``0 <= a <= 1``: the integral, cut off where it has decayed."""
    reach = 9.0 if is_double(h) else 6.0
    width = lax.min(a, reach / lax.max(h, 1e-6))
    near = lax.min(h, 1e3)  # farther out the result is 0, and squares are not numbers
    total = lax.full_like(h, 0)
    for node, weight in gauss_nodes(32 if is_double(h) else 16):
        t = width * node
        total = total + weight * lax.exp(-0.5 * (near * t) * (near * t)) / (1.0 + t * t)
    return width * total * exp_square(h, -0.5) * (0.5 / math.pi)


def owen_of(h, a):
    """Owen's T, for ``|a| > 1`` from the one of ``1 / a``."""
    height, size = lax.abs(h), lax.abs(a)
    steep = size > 1.0
    other = height * size
    safe = choose(steep, size, 1.0)
    inner = owen_integral(choose(steep, other, height), choose(steep, 1.0 / safe, size))
    one, two = normal_probability(-height), normal_probability(-other)
    out = choose(steep, 0.5 * (one + two) - one * two - inner, inner)
    out = choose(size == math.inf, 0.5 * one, height == math.inf, 0.0, out)
    out = choose((h != h) | (a != a), math.nan, out)
    return choose(a < 0.0, -out, out)


# -------------------------------------------------------------------------------------------- the primitives
def density(x):
    """Of a standard normal variable."""
    return exp_square(x, -0.5) * (1.0 / ROOT_2_PI)


def slope_of_log(x, out):
    below = x < 0.0
    low = math.sqrt(2.0 / math.pi) / erfcxs(choose(below, x, 0.0) * (-1.0 / ROOT_2))
    high = choose(below, 0.0, x)  # where a side is not taken, nothing underflows in it
    return choose(below, low, density(high) / normal(high))


def owen_by_h(h, a, out):
    return -0.5 * density(h) * lax.erf(a * h * (1.0 / ROOT_2))


def owen_by_a(h, a, out):
    scale = 1.0 + a * a
    return density(h) * density(h * a) / scale


def faddeeva_slope(z, out):
    return -2.0 * z * out + lax.complex(0.0 * lax.real(z), 2.0 / ROOT_PI + 0.0 * lax.real(z))


def slope_of_dawson(x, out):
    """``1 - 2 x F(x)``; far out, where nothing is left of the difference, by the asymptotic series."""
    edge, terms = (6.5, 26) if is_double(x) else (5.0, 12)
    far = lax.abs(x) > edge
    inverse = 1.0 / choose(far, x, edge)
    square, total = 0.5 * inverse * inverse, lax.full_like(x, 1)
    for k in range(terms, 0, -1):
        total = 1.0 + (2 * k + 1) * square * total
    near = choose(far, 1.0, x)
    return choose(far, -square * total, 1.0 - 2.0 * near * choose(far, 1.0, out))


@functools.cache
def repeated(n):
    """``exp(x ** 2)`` times the ``n``-th repeated integral of ``erfc``, a primitive for each ``n``.

    Its derivative is ``-2 (n + 1)`` times the next one, so nothing cancels in any of them.
    """
    return define(
        f"erfcx_{n}", "x", functools.partial(repeated_complement, n),
        [lambda x, out: -2.0 * (n + 1) * repeated(n + 1)(x)],
        f"exp(x^2) times repeated integral {n} of erfc", weak=False,
    )  # fmt: skip


def repeated_complement(n, x):
    """For large ``x`` by the quotients of neighbours, from far back (W. Gautschi, Recursive computation of
    the repeated integrals of the error function, 1961); else by the recurrence forward (DLMF 7.18.7).
    """
    first = scaled_complement(x)
    before, now = lax.full_like(x, 2.0 / ROOT_PI), first
    for k in range(1, n + 1):
        before, now = now, (before - 2.0 * x * now) * (0.5 / k)
    far = x > 1.0
    size = choose(far, x, 1.0)
    count = n + (140 if is_double(x) else 40)
    ratio = 1.0 / (size + lax.sqrt(size * size + 2.0 * count))
    product = first

    def step(i, state):
        ratio, product = state
        k = lax.convert_element_type(count - i, x.dtype)  # quotient number k from number k + 1
        ratio = 0.5 / (size + (k + 1.0) * ratio)
        return ratio, choose(k <= float(n), product * ratio, product)

    _, product = lax.fori_loop(1, count, step, (ratio, product))
    return choose(far, product, now)


erfcs = define(
    "scipy_erfc", "x", complement, [lambda x, out: (-2.0 / ROOT_PI) * exp_square(x, -1.0)], "1 - erf(x)"
)
erfcxs = define(
    "erfcx", "x", scaled_complement, [lambda x, out: -2.0 * repeated(1)(x)], "exp(x^2) erfc(x)",
    weak=False,
)  # fmt: skip
erfinvs = define(
    "erfinv", "y", inverse_error_function, [lambda y, out: (0.5 * ROOT_PI) * exp_square(out, 1.0)],
    "the inverse error function",
)  # fmt: skip
erfcinvs = define(
    "erfcinv", "y", inverse_complement, [lambda y, out: (-0.5 * ROOT_PI) * exp_square(out, 1.0)],
    "the inverse of erfc",
)  # fmt: skip
normal = define(
    "ndtr", "x", normal_probability, [lambda x, out: density(x)], "normal probability", weak=False
)
log_normal = define(
    "log_ndtr", "x", log_normal_probability, [slope_of_log], "log of normal probability", weak=False
)
normal_quantiles = define(
    "ndtri", "p", quantile_of_probability, [lambda p, out: ROOT_2_PI * exp_square(out, 0.5)],
    "the quantile of a standard normal variable", weak=False,
)  # fmt: skip
dawsons = define("dawsn", "x", dawson, [slope_of_dawson], "Dawson's integral")
faddeeva = define("wofz", "z", faddeeva_of, [faddeeva_slope], "exp(-z^2) erfc(-iz)", kinds="c")
owens = define("owens_t", "h a", owen_of, [owen_by_h, owen_by_a], "Owen's T function", weak=False)

__all__ = [
    "dawsons",
    "erfcinvs",
    "erfcs",
    "erfcxs",
    "erfinvs",
    "faddeeva",
    "log_normal",
    "normal",
    "normal_quantiles",
    "owens",
]
