"""The modified Bessel functions of any real order, ``I`` and ``K``, and their primitives.

Where ``order ** 2 + x ** 2`` is large, both by F. W. J. Olver's uniform expansion (NIST DLMF 10.41.3,
10.41.4), written in powers of ``1 / sqrt(order ** 2 + x ** 2)``, so that it serves order 0 too. Elsewhere
``I`` by its power series (DLMF 10.25.2), whose terms are all positive; ``K`` by the trapezoidal rule for its
integral (DLMF 10.32.9), which converges faster than any power of the step, and below 2 by N. M. Temme's
series ("On the numerical evaluation of the modified Bessel function of the third kind", 1975) and the
recurrence upwards.
"""

import functools
import math
from fractions import Fraction

import rabbet.numpy as rnp
from rabbet import lax
from rabbet.scipy.special.gamma_values import real_gamma
from rabbet.scipy.special.numerics import choose, is_double, polynomial, sin_pi, whole
from rabbet.scipy.special.primitive_factory import BY_DIFFERENTIATION, define

# From this distance from the origin on the expansion has so many terms in single and double precision.
FAR = 25.0
TERMS = (8, 18)
SERIES_TERMS = (36, 56)
NODES = (28, 44)
# Below SMALL Temme's series, of so many terms.
SMALL = 2.0
TEMME_TERMS = (9, 15)
# 1 / gamma(1 + z) in powers of z (DLMF 5.7.1), for |z| up to a half.
RECIPROCAL_GAMMA = (
    1.0, 5.7721566490153286061e-1, -6.5587807152025388108e-1, -4.2002635034095235529e-2,
    1.665386113822914895e-1, -4.2197734555544336748e-2, -9.6219715278769735621e-3,
    7.2189432466630995424e-3, -1.1651675918590651121e-3, -2.1524167411495097282e-4,
    1.2805028238811618615e-4, -2.0134854780788238656e-5, -1.2504934821426706573e-6,
    1.1330272319816958824e-6, -2.0563384169776071035e-7, 6.1160951044814158179e-9,
    5.0020076444692229301e-9, -1.1812745704870201446e-9, 1.0434267116911005105e-10,
    7.782263439905071254e-12, -3.6968056186422057082e-12, 5.100370287454475979e-13,
)  # fmt: skip


@functools.cache
def expansion(count):
    """The coefficients of Olver's polynomials: number ``k`` is ``u_k(p) / p ** k`` in powers of ``p ** 2``
    (DLMF 10.41.9).
    """
    rows = [[Fraction(1)]]
    for k in range(count - 1):
        # With u = p ** k f(p ** 2), each power p ** e goes to the powers e + 1 and e + 3 of the next one.
        row = [Fraction(0)] * (k + 2)
        for i, c in enumerate(rows[-1]):
            e = k + 2 * i
            row[i] += c * (Fraction(e, 2) + Fraction(1, 8 * (e + 1)))
            row[i + 1] -= c * (Fraction(e, 2) + Fraction(5, 8 * (e + 3)))
        rows.append(row)
    return [[float(c) for c in row] for row in rows]


def far(v, x):
    """``exp(-x) I`` and ``exp(x) K`` far from the origin, for orders from 0 on."""
    large = lax.max(v, x)
    share = choose(large == math.inf, 0.0, lax.min(v, x) / large)
    size = large * lax.sqrt(1.0 + share * share)
    p = choose(size == math.inf, 0.0, v / size)
    square, inverse = p * p, 1.0 / size
    upper = lower = lax.full_like(x, 0)
    for k, row in reversed(list(enumerate(expansion(TERMS[is_double(x)])))):
        term = polynomial(square, row)
        upper, lower = upper * inverse + term, (term if k % 2 == 0 else -term) + lower * inverse
    # sqrt(v ** 2 + x ** 2) - x, without the difference.
    ahead = choose(v == 0.0, 0.0, v * (v / (size + x)))
    exponent = ahead - choose(v == 0.0, 0.0, v * lax.asinh(v / x))
    root = lax.sqrt(size)  # by itself: neither twice the largest number nor its inverse is one
    first = lax.exp(exponent) * ((1.0 / math.sqrt(2.0 * math.pi)) / root) * upper
    second = lax.exp(-exponent) * (math.sqrt(0.5 * math.pi) / root) * lower
    return first, second


def power_series(v, x):
    """``I``, near the origin."""
    quarter = 0.25 * x * x
    count = SERIES_TERMS[is_double(x)]

    def step(i, total):
        k = lax.convert_element_type(count - i, x.dtype)
        return 1.0 + quarter / (k * (v + k)) * total

    total = lax.fori_loop(0, count, step, lax.full_like(x, 1))
    return lax.pow(0.5 * x, v) / real_gamma(v + 1.0) * total


def trapezoidal(v, x):
    """``exp(x) K``: the integral of ``exp(-x (cosh t - 1)) cosh(v t)`` from 0 on."""
    count = NODES[is_double(x)]
    reach = 42.0 if is_double(x) else 20.0
    # The integrand is largest at asinh(v / x), and from there it falls at least as fast as it does for v = 0
    # and an x of this size.
    size = lax.sqrt(v * v + x * x)
    width = lax.asinh(v / x) + lax.acosh(1.0 + reach / size)
    h = width * (1.0 / count)

    def step(i, total):
        t = h * (lax.convert_element_type(i, x.dtype) + 1.0)
        half = lax.sinh(0.5 * t)
        fall = 2.0 * x * half * half
        return total + 0.5 * (lax.exp(v * t - fall) + lax.exp(-v * t - fall))

    return h * lax.fori_loop(0, count, step, lax.full_like(x, 0.5))


def gamma_parts(mu):
    """Temme's ``gamma1`` and ``gamma2``: the odd and the even part of ``1 / gamma(1 - mu)``, the odd one
    divided by ``mu``; then ``1 / gamma(1 + mu)`` and ``1 / gamma(1 - mu)``.
    """
    square = mu * mu
    odd, even = (polynomial(square, RECIPROCAL_GAMMA[i::2]) for i in (1, 0))
    return -odd, even, even + mu * odd, even - mu * odd


def sinh_quotient(s):
    """``sinh(s) / s``."""
    near = lax.abs(s) < 0.5
    t = choose(near, s * s, 0.0)
    by_series = polynomial(t, [1.0 / math.factorial(2 * k + 1) for k in range(8)])
    far_one = choose(near, 1.0, s)
    return choose(near, by_series, lax.sinh(far_one) / far_one)


def sine_quotient(mu):
    """``pi mu / sin(pi mu)`` for ``|mu|`` up to a half."""
    near = lax.abs(mu) < 0.05
    t = math.pi * mu
    square = choose(near, t * t, 0.0)
    by_series = 1.0 / polynomial(square, [(-1) ** k / math.factorial(2 * k + 1) for k in range(6)])
    apart = choose(near, 1.0, t)
    return choose(near, by_series, apart / choose(near, 1.0, lax.sin(apart)))


def temme(mu, x, sign, mixed=0.0):
    """The sums of Temme's series: for ``sign`` 1 and ``mixed`` 0 ``K`` of the order ``mu``, and ``x / 2``
    times that of ``mu + 1``. ``|mu|`` is at most a half and ``x`` at most 2.
    """
    one, two, plus, minus = gamma_parts(mu)
    # Half of the smallest number is none.
    log = -choose(x < 1e-3, lax.log(x) - math.log(2.0), lax.log(0.5 * x))
    s = mu * log
    f = sine_quotient(mu) * (lax.cosh(s) * one + sinh_quotient(s) * log * two)
    p, q = 0.5 * lax.exp(s) / plus, 0.5 * lax.exp(-s) / minus
    quarter = sign * 0.25 * x * x
    weight, first, second = lax.full_like(x, 1), f + mixed * q, p
    for k in range(1, TEMME_TERMS[is_double(x)]):
        f = (k * f + p + q) / (k * k - mu * mu)
        p, q = p / (k - mu), q / (k + mu)
        weight = weight * quarter * (1.0 / k)
        term = f + mixed * q
        first, second = first + weight * term, second + weight * (p - k * term)
    return first, second


def near_zero(v, x):
    """``K`` for ``x`` up to 2 and orders from 0 to FAR: Temme's series, and upwards."""
    n = lax.floor(v + 0.5)
    mu = v - lax.stop_gradient(n)
    first, second = temme(mu, x, 1.0)
    ratio = 2.0 / x

    def step(k, state):
        here, above = state
        k = lax.convert_element_type(k, x.dtype)
        on = k < n
        return choose(on, above, here), choose(on, (mu + k + 1.0) * ratio * above + here, above)

    return lax.fori_loop(0, int(FAR) + 1, step, (first, second * ratio))[0]


def both(v, x):
    """``exp(-x) I`` and ``exp(x) K`` for orders and ``x`` from 0 on."""
    is_far = (v >= FAR) | (x >= FAR) | (v * v + x * x >= FAR * FAR)
    is_small = x < SMALL
    far_i, far_k = far(choose(is_far, v, FAR), choose(is_far, x, FAR))
    order, at = choose(is_far, 1.0, v), choose(is_far | (x == 0.0), 1.0, x)
    near_i = power_series(order, at) * lax.exp(-at)
    at_zero = choose(v == 0.0, 1.0, 0.0 * v)
    low = near_zero(order, choose(is_small, at, 1.0)) * lax.exp(choose(is_small, at, 1.0))
    high = trapezoidal(order, choose(is_small, 3.0, at))
    upper = choose(is_far, far_i, x == 0.0, at_zero, near_i)
    lower = choose(x == 0.0, math.inf, is_far, far_k, is_small, low, high)
    return upper, lower


def second_kind(v, x):
    """``exp(x) K``."""
    return choose(x < 0.0, math.nan, (v != v) | (x != x), v + x, both(lax.abs(v), lax.abs(x))[1])


def odd(v):
    """Whether numbers are whole and odd."""
    return whole(v) & (v - 2.0 * lax.floor(0.5 * v) != 0.0)


def first_kind(v, x):
    """``exp(-|x|) I``. Negative orders by DLMF 10.27.2."""
    size, order = lax.abs(x), lax.abs(v)
    out, other = both(order, size)
    sine = choose(v < 0.0, sin_pi(order), 0.0)
    turned = sine * (2.0 / math.pi) * choose(sine == 0.0, 0.0, lax.exp(-2.0 * size) * other)
    out = out + turned
    mirrored = choose(odd(v), -out, whole(v), out, math.nan)
    return choose((v != v) | (x != x), v + x, x < 0.0, mirrored, out)


def unscaled_first(v, x):
    out, part = first_kind(v, x), lax.exp(0.25 * lax.abs(x))
    value = part * (part * (part * (part * out)))
    infinite = choose(odd(v) & (x < 0.0), -math.inf, lax.full_like(x, math.inf))
    out = choose((v == math.inf) & (lax.abs(x) < math.inf), 0.0, out)  # the limit of large orders
    return choose((out == 0.0) & (lax.abs(x) == math.inf), infinite, out == 0.0, out, value)


def unscaled_second(v, x):
    half = lax.exp(-0.5 * x)
    out = half * second_kind(v, x) * half
    # Infinity times 0 where the order is as large as x: which of both it is says the whole exponent.
    size, order = lax.max(x, 1.0), lax.abs(v)
    share = order / size
    exponent = lax.sqrt(1.0 + share * share) - share * lax.asinh(share)
    lost = (out != out) & (v == v) & (x >= 1.0)
    return choose(x == math.inf, 0.0, lost & (exponent > 0.0), 0.0, lost, math.inf, out)


def neighbours(primitive, v, x):
    """The values of the orders below and above, by one evaluation of both: half as long to compile."""
    both = primitive(rnp.stack([v - 1.0, v + 1.0]), rnp.stack([x, x]))
    return both[0], both[1]


def half_sum(primitive, v, x):
    below, above = neighbours(primitive, v, x)
    return 0.5 * (below + above)


# The derivatives by x are sums of neighbours (DLMF 10.29.1), which are right at 0 too.
scaled_i = define(
    "ive", "v x", first_kind,
    [BY_DIFFERENTIATION, lambda v, x, out: half_sum(scaled_i, v, x) - lax.sign(x) * out],
    "exp(-|x|) I_v(x)",
)  # fmt: skip
scaled_k = define(
    "kve", "v x", second_kind,
    [BY_DIFFERENTIATION, lambda v, x, out: out - half_sum(scaled_k, v, x)],
    "exp(x) K_v(x)",
)  # fmt: skip
modified_i = define(
    "iv", "v x", unscaled_first,
    [BY_DIFFERENTIATION, lambda v, x, out: half_sum(modified_i, v, x)],
    "the modified Bessel function I_v(x)",
)  # fmt: skip
modified_k = define(
    "kv", "v x", unscaled_second,
    [BY_DIFFERENTIATION, lambda v, x, out: -half_sum(modified_k, v, x)],
    "the modified Bessel function K_v(x)",
)  # fmt: skip

__all__ = ["modified_i", "modified_k", "neighbours", "scaled_i", "scaled_k", "sine_quotient", "temme"]
