"""The regularized incomplete gamma functions and what reparameterized gamma samples need.

``igamma(a, x)`` is P, the distribution function of a gamma variable with shape ``a``; ``igammac`` is Q = 1 -
P. Three methods, each where a fixed number of steps suffices, at most about a hundred:

- the power series of P for ``x <= max(a, 1)`` (NIST DLMF 8.7.1, 8.11.4);
- the continued fraction of Q for larger ``x`` (DLMF 8.9.2), from the inside out;
- Temme's uniform expansion for ``a >= 20`` and ``x`` within 30 % of ``a`` (DLMF 8.12).

The derivative by ``a`` is that of each method, step by step, as M. Figurnov, S. Mohamed and A. Mnih do it
("Implicit reparameterization gradients", 2018). All leave out the factor ``x ** a exp(-x) / gamma(a + 1)``,
which is put in at the end, accurately, or cancels.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from rabbet import lax
from rabbet.extend.primitive import Dual, Primitive, Zero, add_tangents, zero_tangent
from rabbet.extend.rules import spread
from rabbet.extend.transform import refusing, typeof
from rabbet.lax import abs, add, div, erfc, exp, expm1, log, log1p, mul, neg, rsqrt, sign, sqrt, sub

from rabbet_special.gamma import digamma, lgamma
from rabbet_special.gamma_parts import (
    TEMME_FROM,
    TEMME_NEAR,
    inverse_factorial,
    log_gamma_row,
    near_distance,
    temme,
    weighted_distance,
)
from rabbet_special.numerics import (
    elementwise_type,
    epsilon,
    full_like,
    in_single,
    is_double,
    polynomial,
    repeat,
    typed,
)

# How many steps the continued fraction takes to single and to double precision, at its worst, x = 1.
FRACTION_STEPS = (24, 104)


def incomplete(name, doc):
    """Make a primitive of two operands, ``a`` and ``x``."""

    def abstract(a, x):
        return elementwise_type(name, a, x)

    return Primitive(name, abstract, kinds=("elementwise",), operands=("a", "x"), doc=doc)


igamma = incomplete(
    "igamma",
    """P(a, x), the regularized lower incomplete gamma function

    >>> lax.igamma(2.0, rnp.array([1.0, 3.0]))
    Array([0.2642411 , 0.80085176], dtype=float32)
    """,
)
igammac = incomplete(
    "igammac",
    """Q(a, x) = 1 - P(a, x), the regularized upper incomplete gamma function

    >>> lax.igammac(2.0, rnp.array([1.0, 3.0]))
    Array([0.7357589 , 0.19914825], dtype=float32)
    """,
)
igamma_grad_a = incomplete(
    "igamma_grad_a",
    """the derivative of igamma(a, x) by a

    >>> lax.igamma_grad_a(2.0, rnp.array([1.0, 3.0]))
    Array([-0.27...], dtype=float32)
    """,
)
random_gamma_grad = incomplete(
    "random_gamma_grad",
    """how a gamma sample x moves with its shape a: dx / da at constant igamma(a, x)

    >>> lax.random_gamma_grad(2.0, rnp.array([1.0, 3.0])).shape
    (2,)
    """,
)


class Regions(NamedTuple):
    """Which method serves where, and what all of them need."""

    by_series: Any
    by_temme: Any
    valid: Any
    a: Any
    x: Any
    mu: Any
    error: Any
    root: Any


def regions(a, x):
    """Booleans per element, and the arguments with invalid ones replaced by ones."""
    valid = lax.bitwise_and(lax.gt(a, 0.0), lax.gt(x, 0.0))
    valid = lax.bitwise_and(valid, lax.bitwise_and(lax.is_finite(a), lax.is_finite(x)))
    a, x = lax.select_n(valid, 1.0, a), lax.select_n(valid, 1.0, x)
    mu = div(sub(x, a), a)
    by_temme = lax.bitwise_and(lax.ge(a, TEMME_FROM), lax.lt(abs(mu), TEMME_NEAR))
    by_series = lax.bitwise_or(lax.le(x, 1.0), lax.le(x, a))
    return Regions(by_series, by_temme, valid, a, x, mu, *inverse_factorial(a))


def factor(r):
    """``x ** a exp(-x) / gamma(a + 1)``."""
    exponent = neg(add(weighted_distance(r.a, sub(r.x, r.a), div(r.x, r.a)), r.error))
    return div(exp(exponent), r.root)


# -------------------------------------------------------------------------------------------- the methods
def series(r, derivative):
    """The sum of ``x ** n / ((a + 1) ... (a + n))`` and, if asked for, its derivative by ``a``; innermost
    factor first.
    """
    x = lax.select_n(lax.bitwise_and(r.by_series, lax.bitwise_not(r.by_temme)), 0.0, r.x)

    def step(n, held, total, slope=None):
        a, x = held
        below = add(a, n)
        ratio = div(x, below)
        if derivative:
            slope = [mul(ratio, sub(slope, div(total, below)))]
        return [add(mul(ratio, total), 1.0), *(slope or ())]

    start = [full_like(x, 1), full_like(x, 0)][: 1 + derivative]
    return repeat(104 if is_double(x) else 52, step, start, (r.a, x))


def fraction(r, derivative):
    """The continued fraction ``F`` of ``Q = x ** a exp(-x) / gamma(a) F`` and, if asked for, its derivative
    by ``a``; innermost denominator first.
    """
    elsewhere = lax.bitwise_or(r.by_series, r.by_temme)
    a, x = lax.select_n(elsewhere, r.a, 1.0), lax.select_n(elsewhere, r.x, 2.0)
    first = add(sub(x, a), 1.0)

    def step(n, held, below, slope=None):
        # From the denominator number n to the one before: first + 2 (n - 1) + n (a - n) / below.
        a, first = held
        top = mul(n, sub(a, n))
        ratio = div(top, below)
        if derivative:
            slope = [sub(div(sub(n, mul(ratio, slope)), below), 1.0)]
        return [add(add(first, mul(sub(n, 1.0), 2.0)), ratio), *(slope or ())]

    steps = FRACTION_STEPS[is_double(x)]
    start = [add(first, 2.0 * steps), full_like(x, -1)][: 1 + derivative]
    below, *slope = repeat(steps, step, start, (a, first))
    value = div(1.0, below)
    return [value, *[neg(mul(mul(value, value), d)) for d in slope]]


def uniform(r):
    """What Temme's expansion needs: eta, its ratio to ``x / a - 1``, and the sums of ``temme``."""
    a = lax.select_n(r.by_temme, TEMME_FROM, r.a)
    mu = lax.select_n(r.by_temme, 0.0, r.mu)
    tiny = lax.lt(abs(mu), epsilon(mu))
    size = sqrt(mul(near_distance(lax.select_n(tiny, mu, 0.25)), 2.0))
    eta = lax.select_n(tiny, mul(sign(mu), size), mu)
    ratio = lax.select_n(tiny, div(mu, lax.select_n(tiny, eta, 1.0)), 1.0)
    return a, mu, eta, ratio, temme(a, eta)


# ------------------------------------------------------------------------------------------- the functions
def _regularized(a, x, upper):
    """P, or Q if ``upper``, and the regions."""
    r = regions(a, x)
    scale = factor(r)
    p = mul(scale, series(r, False)[0])
    q = mul(mul(scale, r.a), fraction(r, False)[0])
    out = lax.select_n(r.by_series, q, sub(1.0, p)) if upper else lax.select_n(r.by_series, sub(1.0, q), p)
    large, _, eta, _, (total, *_) = uniform(r)
    tail = mul(eta, sqrt(mul(large, 0.5)))
    rest = mul(mul(exp(neg(mul(tail, tail))), rsqrt(mul(large, 2.0 * math.pi))), total)
    middle = add(mul(erfc(tail), 0.5), rest) if upper else sub(mul(erfc(neg(tail)), 0.5), rest)
    out = lax.select_n(r.by_temme, out, middle)
    return (small_shapes(r, out) if upper else out), r


def small_shapes(r, otherwise):
    """Q where both arguments are small, without the difference ``1 - P``: the power of ``x`` less 1, and the
    rest of the series ``sum of (-x) ** k / k! a / (a + k)`` (DLMF 8.7.3); ``otherwise`` elsewhere.
    """
    here = lax.bitwise_and(lax.le(r.a, 0.5), lax.le(r.x, 1.0))
    a, x = lax.select_n(here, 0.5, r.a), lax.select_n(here, 1.0, r.x)
    row = log_gamma_row(28 if is_double(x) else 14)
    power = sub(add(mul(a, log(x)), log1p(a)), mul(a, polynomial(a, row)))  # log(x ** a / gamma(a + 1))

    def step(n, held, total):
        a, x = held
        return [sub(div(1.0, add(a, n)), mul(div(x, add(n, 1.0)), total))]

    (total,) = repeat(20 if is_double(x) else 12, step, [full_like(x, 0)], (a, x))
    rest = mul(mul(a, x), mul(exp(power), total))
    return lax.select_n(here, otherwise, sub(rest, expm1(power)))


def _at_limits(r, a, x, value, at_start, at_end):
    """``value`` where both arguments are positive numbers; the limits elsewhere; NaN outside the domain."""
    zero = lax.bitwise_or(lax.eq(x, 0.0), lax.eq(a, np.inf))
    end = lax.bitwise_or(lax.eq(x, np.inf), lax.eq(a, 0.0))
    out = lax.select_n(r.valid, np.nan, value)
    out = lax.select_n(zero, out, at_start)
    out = lax.select_n(end, out, at_end)
    outside = lax.bitwise_or(lax.bitwise_and(zero, end), _outside(a, x))
    return lax.select_n(outside, out, np.nan)


def _outside(a, x):
    negative = lax.bitwise_or(lax.lt(a, 0.0), lax.lt(x, 0.0))
    return lax.bitwise_or(negative, lax.bitwise_or(lax.ne(a, a), lax.ne(x, x)))


def _lower(a, x):
    p, r = _regularized(a, x, False)
    return _at_limits(r, a, x, p, 0.0, 1.0)


def _upper(a, x):
    q, r = _regularized(a, x, True)
    return _at_limits(r, a, x, q, 1.0, 0.0)


def slope_by_a(r):
    """The derivative of P by ``a``, without ``factor``."""
    total, dtotal = series(r, True)
    growth = sub(log(r.x), digamma(add(r.a, 1.0)))
    lower = add(mul(growth, total), dtotal)
    f, df = fraction(r, True)
    # Of Q = x ** a exp(-x) / gamma(a) F: the factor is larger by a, and digamma(a) smaller by 1 / a.
    upper = neg(add(mul(r.a, add(mul(growth, f), df)), f))
    slope = lax.select_n(r.by_series, upper, lower)
    a, mu, eta, ratio, (s, by_eta, by_a) = uniform(r)
    # log(x / a) is mu - eta ** 2 / 2.
    inner = sub(ratio, mul(eta, 0.5))
    inner = add(inner, mul(s, sub(sub(mu, mul(mul(eta, eta), 0.5)), div(0.5, a))))
    inner = add(inner, sub(by_a, mul(by_eta, div(ratio, a))))
    middle = neg(mul(exp(r.error), inner))
    return lax.select_n(r.by_temme, slope, middle)


def _slope(a, x):
    r = regions(a, x)
    return _at_limits(r, a, x, mul(factor(r), slope_by_a(r)), 0.0, 0.0)


def _sample_slope(a, x):
    r = regions(a, x)
    moved = neg(mul(div(r.x, r.a), slope_by_a(r)))
    at_zero = lax.bitwise_and(lax.eq(x, 0.0), lax.gt(a, 0.0))
    return lax.select_n(at_zero, lax.select_n(r.valid, np.nan, moved), 0.0)


for _primitive, _function in (
    (igamma, _lower), (igammac, _upper), (igamma_grad_a, _slope), (random_gamma_grad, _sample_slope),
):  # fmt: skip
    _primitive.decompose(lambda op, a, x, function=_function: in_single(function, op, a, x))


# ------------------------------------------------------------------------------------------- derivatives
def density(a, x):
    """The derivative of P by ``x``: ``x ** (a - 1) exp(-x) / gamma(a)``."""
    power = sub(a, 1.0)
    flat = lax.eq(power, 0.0)
    powers = lax.select_n(flat, mul(power, log(x)), mul(x, 0.0))
    return exp(sub(sub(powers, x), lgamma(a)))


@igamma.rule("jvp")
def jvp_igamma(op, a, x):
    return _jvp(op, a, x, igamma_grad_a, density)


@igammac.rule("jvp")
def jvp_igammac(op, a, x):
    return _jvp(op, a, x, lambda a, x: neg(igamma_grad_a(a, x)), lambda a, x: neg(density(a, x)))


@igamma_grad_a.rule("jvp")
def jvp_igamma_grad_a(op, a, x):
    def by_a(a, x):
        refusing(
            "the second derivative of the incomplete gamma function by a is not offered; take a as a "
            "constant (lax.stop_gradient)"
        )(op)

    return _jvp(op, a, x, by_a, lambda a, x: mul(density(a, x), sub(log(x), digamma(a))))


random_gamma_grad.rule("jvp")(
    refusing("it is a derivative already; second derivatives of gamma samples are not offered")
)


def _jvp(op, a, x, by_a, by_x):
    out = op(a.primal, x.primal)
    primals = typed(op, a.primal, x.primal)
    tangent = zero_tangent(typeof(out))
    for operand, partial in ((a, by_a), (x, by_x)):
        if type(operand.tangent) is not Zero:
            tangent = add_tangents(tangent, mul(operand.tangent, partial(*primals)))
    return Dual(out, spread(tangent, typeof(out).shape))


__all__ = ["igamma", "igamma_grad_a", "igammac", "random_gamma_grad"]
