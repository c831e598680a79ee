"""The Bessel functions of any real order, ``J`` and ``Y``, and their primitives.

- Far out, from ``x = order ** 2 / 2`` on, H. Hankel's expansion (NIST DLMF 10.17.3, 10.17.4).
- Below 2, ``J`` by its power series (DLMF 10.2.2) and ``Y`` by N. M. Temme's series ("On the numerical
  evaluation of the ordinary Bessel function of the second kind", 1976).
- Between, the two continued fractions of Steed's method (A. R. Barnett and others, "Coulomb wave functions
  for all real eta and rho", 1974; DLMF 10.74(v)): one gives ``J' / J``, the other ``(J' + i Y') / (J + i
  Y)``, and the Wronskian the size. The second one converges for orders below ``x``, so for higher orders both
  functions are found at one below, from which ``Y`` goes upwards and ``J`` came down, the stable ways.
"""

import math

import rabbet.numpy as rnp
from rabbet import lax
from rabbet.scipy.special.bessel_modified import neighbours, sine_quotient, temme
from rabbet.scipy.special.gamma_values import real_gamma
from rabbet.scipy.special.numerics import choose, cos_pi, epsilon, is_double, sin_pi, whole
from rabbet.scipy.special.primitive_factory import NoDerivative, define

HANKEL_FROM = 25.0
HANKEL_TERMS = (10, 32)
SMALL = 2.0
SERIES_TERMS = (10, 16)
MOST_STEPS = 20_000.0
LARGE = 1e10


def hankel(v, x):
    """``J`` and ``Y`` far out."""
    total_p = total_q = lax.full_like(x, 0)
    square, inverse = 4.0 * v * v, 1.0 / (8.0 * x)
    term, terms = lax.full_like(x, 1), [lax.full_like(x, 1)]
    for k in range(1, HANKEL_TERMS[is_double(x)]):
        term = term * (square - (2 * k - 1) ** 2) * inverse * (1.0 / k)
        terms.append(term)
    for k, term in reversed(list(enumerate(terms))):
        sign = -1.0 if k % 4 in (2, 3) else 1.0
        if k % 2:
            total_q = total_q + sign * term
        else:
            total_p = total_p + sign * term
    # cos(x - phase), without the rounding of the difference.
    turn = 0.5 * v + 0.25
    sin, cos, sin_phase, cos_phase = lax.sin(x), lax.cos(x), sin_pi(turn), cos_pi(turn)
    cosine, sine = cos * cos_phase + sin * sin_phase, sin * cos_phase - cos * sin_phase
    size = math.sqrt(2.0 / math.pi) / lax.sqrt(x)
    first, second = size * (total_p * cosine - total_q * sine), size * (total_p * sine + total_q * cosine)
    return choose(x == math.inf, 0.0, first), choose(x == math.inf, 0.0, second)


def power_series(v, x):
    """``J`` for ``x`` below 2."""
    quarter, rest = -0.25 * x * x, lax.full_like(x, 1)
    for k in range(SERIES_TERMS[is_double(x)], 0, -1):
        rest = 1.0 + quarter / (k * (v + k)) * rest
    # Of high orders the quotient of a power and a factorial by their logarithms.
    is_high = v > 20.0
    low, high = choose(is_high, 1.0, v), choose(is_high, v, 21.0)
    start = lax.pow(0.5 * x, low) / real_gamma(low + 1.0)
    far = lax.exp(high * lax.log(0.5 * x) - lax.lgamma(high + 1.0))
    return rest * choose(is_high, far, start)


def not_zero(x):
    """A number that may be divided by."""
    return choose(lax.abs(x) < 1e-30, 1e-30, x)


def log_derivative(v, x, on):
    """``J' / J`` and the sign of ``J``, by the modified method of Lentz; where ``on``."""
    ratio = 2.0 / x

    def more(state):
        n, going, *_ = state
        return rnp.any(going) & (n < MOST_STEPS)

    def step(state):
        n, going, c, d, f, sign = state
        b = (v + (n + 1.0)) * ratio
        d = not_zero(b - d)
        c = not_zero(b - 1.0 / c)
        d = 1.0 / d
        change = c * d
        f = choose(going, f * change, f)
        sign = choose(going & (d < 0.0), -sign, sign)
        return n + 1.0, going & (lax.abs(change - 1.0) > epsilon(x)), c, d, f, sign

    f = not_zero(v / x)
    start = (lax.full_like(x, 0, shape=()), on, f, lax.full_like(x, 0), f, lax.full_like(x, 1))
    _, going, _, _, f, sign = lax.while_loop(more, step, start)
    return choose(going, math.nan, f), sign


def outgoing(mu, x, on):
    """The real and the imaginary part of ``(J' + i Y') / (J + i Y)``, for orders below ``x``."""
    at = lax.complex(2.0 * x, lax.full_like(x, 2.0))
    square = mu * mu

    def more(state):
        n, going, *_ = state
        return rnp.any(going) & (n < MOST_STEPS)

    def step(state):
        n, going, b, c, d, g = state
        b = b + 2.0j
        above = lax.convert_element_type((n + 1.5) * (n + 1.5) - square, b.dtype)
        d = 1.0 / (b + above * d)
        c = b + above / c
        change = c * d
        g = lax.select(going, g * change, g)
        moved = lax.abs(lax.real(change) - 1.0) + lax.abs(lax.imag(change))
        return n + 1.0, going & (moved > epsilon(x)), b, c, d, g

    start = (lax.full_like(x, 0, shape=()), on, at, at, lax.full_like(at, 0), at)
    _, going, *_, g = lax.while_loop(more, step, start)
    first = lax.convert_element_type((0.25 - square) / x, g.dtype) / g
    p, q = -lax.imag(first) - 0.5 / x, lax.real(first) + 1.0
    return choose(going, math.nan, p), q


def downwards(v, n, x, u, slope):
    """``J`` and ``J'`` up to one factor, from the order ``v`` down by ``n``; and what the first one then is,
    in the scale of the last one.
    """
    inverse = 1.0 / x

    def more(state):
        return rnp.any(state[0] < n)

    def step(state):
        k, u, slope, first = state
        on, order = k < n, v - k
        below = order * inverse * u + slope
        below_slope = (order - 1.0) * inverse * below - u
        scale = choose(on & (lax.abs(below) > LARGE), 1.0 / LARGE, lax.full_like(x, 1))
        u, slope = choose(on, below, u) * scale, choose(on, below_slope, slope) * scale
        return k + 1.0, u, slope, first * scale

    return lax.while_loop(more, step, (lax.full_like(x, 0, shape=()), u, slope, u))[1:]


def upwards(mu, n, x, here, above):
    """``Y`` of the order ``mu + n`` from those of ``mu`` and ``mu + 1``."""
    ratio = 2.0 / x

    def more(state):
        return rnp.any(state[0] < n)

    def step(state):
        k, here, above = state
        on = k < n
        higher = (mu + k + 1.0) * ratio * above - here
        higher = choose(lax.abs(above) == math.inf, above, higher)
        return k + 1.0, choose(on, above, here), choose(on, higher, above)

    return lax.while_loop(more, step, (lax.full_like(x, 0, shape=()), here, above))[1]


def both(v, x):
    """``J`` and ``Y`` for orders from 0 on and ``x > 0``."""
    is_far = x >= lax.max(lax.full_like(x, HANKEL_FROM), 0.5 * v * v)
    is_small = x < SMALL
    is_high = v - x > MOST_STEPS  # then J is 0 and Y infinite
    far_j, far_y = hankel(choose(is_far, v, 0.0), choose(is_far, x, HANKEL_FROM))
    near_x = choose(is_small, x, 1.0)
    near_j = power_series(choose(is_small, v, 1.0), near_x)
    idle = is_far | is_small | is_high
    order, at = choose(idle, 1.0, v), choose(idle, 2.0, x)
    n = choose(is_small & ~is_high, lax.floor(v + 0.5), lax.max(lax.ceil(order - at), lax.full_like(x, 0)))
    mu = choose(is_small, v - n, order - n)
    # Steed's method.
    f, sign = log_derivative(order, at, ~idle)
    down = choose(idle, 0.0, n)
    u, slope, first = downwards(order, down, at, lax.full_like(x, 1), f)
    p, q = outgoing(choose(is_small, 1.0, mu), at, ~idle)
    across = p * u - slope
    size = sign * lax.sqrt((2.0 / math.pi) / at * q / (across * across + q * q * u * u))
    y = size * across / q
    y_slope = size * (across / q * p + q * u)
    middle_j = size * first
    # And upwards.
    start, start_above = temme_y(choose(is_small, mu, 0.0), near_x)
    here = choose(is_small, start, y)
    above = choose(is_small, start_above, mu / at * y - y_slope)
    middle_y = upwards(mu, choose(is_far | is_high, 0.0, n), choose(is_small, near_x, at), here, above)
    j = choose(is_small, near_j, is_far, far_j, is_high, 0.0, middle_j)
    return j, choose(is_far, far_y, is_high, -math.inf, middle_y)


def temme_y(mu, x):
    """``Y`` of the orders ``mu`` and ``mu + 1``, ``|mu|`` up to a half and ``x`` below 2."""
    root = sine_quotient(0.5 * mu)
    first, second = temme(mu, x, -1.0, (0.5 * math.pi**2) * mu / (root * root))
    return (-2.0 / math.pi) * first, (-4.0 / math.pi) * second / x


def of_any_sign(v, x):
    """``J`` and ``Y`` for all orders and ``x >= 0``; negative orders by DLMF 10.4.6."""
    order = lax.abs(v)
    finite = (x > 0.0) & (order < math.inf)
    j, y = both(choose(finite, order, 0.0), choose(finite, x, 1.0))
    j = choose(x == 0.0, choose(order == 0.0, 1.0, 0.0 * x), order == math.inf, 0.0, j)
    y = choose((x == 0.0) | (order == math.inf), -math.inf, y)
    sine, cosine = sin_pi(order), cos_pi(order)
    turned_j = choose(cosine == 0.0, 0.0, cosine * j) - choose(sine == 0.0, 0.0, sine * y)
    turned_y = choose(sine == 0.0, 0.0, sine * j) + choose(cosine == 0.0, 0.0, cosine * y)
    invalid = (v != v) | (x != x)
    j, y = choose(v < 0.0, turned_j, j), choose(v < 0.0, turned_y, y)
    return choose(invalid, v + x, j), choose(invalid, v + x, y)


def first_kind(v, x):
    """``J``; of negative ``x`` for whole orders."""
    out = of_any_sign(v, lax.abs(x))[0]
    odd = v - 2.0 * lax.floor(0.5 * v) != 0.0
    return choose(x < 0.0, choose(odd & whole(v), -out, whole(v), out, math.nan), out)


def second_kind(v, x):
    """``Y``."""
    return choose(x < 0.0, math.nan, of_any_sign(v, lax.abs(x))[1])


BY_ORDER = NoDerivative("it is not offered by the order")

def half_difference(primitive, v, x):
    below, above = neighbours(primitive, v, x)
    return 0.5 * (below - above)


# The derivatives by x are differences of neighbours (DLMF 10.6.1), which are right at 0 too.
bessel_j = define(
    "jv", "v x", first_kind, [BY_ORDER, lambda v, x, out: half_difference(bessel_j, v, x)],
    "the Bessel function J_v(x)",
)  # fmt: skip
bessel_y = define(
    "yv", "v x", second_kind, [BY_ORDER, lambda v, x, out: half_difference(bessel_y, v, x)],
    "the Bessel function Y_v(x)",
)  # fmt: skip

__all__ = ["bessel_j", "bessel_y"]
