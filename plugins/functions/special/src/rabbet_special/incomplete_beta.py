"""The regularized incomplete beta function, the distribution function of a beta variable.

By the even part of its continued fraction (NIST DLMF 8.17.22; A. R. DiDonato and A. H. Morris, "Significant
digit computation of the incomplete beta function ratios", 1992), which converges in a few times the square
root of the larger shape steps, on the side of ``x`` where it does; the factor in front of it is computed as
in ``gamma_parts``, so that it stays accurate for large shapes.
"""

import numpy as np
from rabbet import lax
from rabbet.extend.primitive import Dual, Primitive, Zero
from rabbet.extend.rules import spread
from rabbet.extend.transform import refusing, typeof
from rabbet.lax import abs, add, div, exp, log, log1p, mul, neg, sub

from rabbet_special.gamma import lgamma
from rabbet_special.gamma_parts import inverse_factorial, weighted_distance
from rabbet_special.numerics import (
    elementwise_type,
    epsilon,
    full_like,
    in_single,
    repeat_while,
    typed,
)

MOST_STEPS = 20000


def beta_aval(a, b, x):
    return elementwise_type("regularized_incomplete_beta", a, b, x)


regularized_incomplete_beta = Primitive(
    "regularized_incomplete_beta", beta_aval, kinds=("elementwise",), operands=("a", "b", "x"),
    doc="""I_x(a, b), the probability that a beta variable with shapes a and b is below x

    >>> lax.betainc(2.0, 3.0, rnp.array([0.25, 0.5]))
    Array([0.26171887, 0.6874999 ], dtype=float32)
    """,
)  # fmt: skip
for _place in ("__name__", "__qualname__"):
    setattr(regularized_incomplete_beta, _place, "betainc")  # as it is called


@regularized_incomplete_beta.decompose
def betainc_by_fraction(op, a, b, x):
    return in_single(_regularized, op, a, b, x)


def _regularized(a, b, x):
    inside = lax.bitwise_and(_positive(x), lax.lt(x, 1.0))
    valid = lax.bitwise_and(lax.bitwise_and(_positive(a), _positive(b)), inside)
    shape_a, shape_b, p = [lax.select_n(valid, fine, v) for v, fine in ((a, 1.0), (b, 1.0), (x, 0.5))]
    q = sub(1.0, p)
    # The fraction converges fast below the mean; above it, the roles of p and q change.
    swap = lax.gt(mul(p, add(add(shape_a, shape_b), 2.0)), add(shape_a, 1.0))
    one, two = lax.select_n(swap, shape_a, shape_b), lax.select_n(swap, shape_b, shape_a)
    p, q = lax.select_n(swap, p, q), lax.select_n(swap, q, p)
    tail = mul(_factor(one, two, p, q), _fraction(one, two, p, q))
    value = lax.select_n(swap, tail, sub(1.0, tail))
    return lax.select_n(valid, _limits(a, b, x), value)


def _positive(x):
    return lax.bitwise_and(lax.gt(x, 0.0), lax.lt(x, np.inf))


def _limits(a, b, x):
    """The values at the ends of the interval and for shapes 0 and infinity, by which all the probability is
    at one end; NaN outside the domain.
    """
    at_zero = lax.bitwise_or(lax.eq(a, 0.0), lax.eq(b, np.inf))
    at_one = lax.bitwise_or(lax.eq(b, 0.0), lax.eq(a, np.inf))
    value = lax.select_n(at_zero, mul(x, 0.0), 1.0)
    ends = lax.bitwise_or(lax.eq(x, 0.0), lax.eq(x, 1.0))
    value = lax.select_n(ends, value, x)
    domain = lax.bitwise_and(lax.ge(a, 0.0), lax.ge(b, 0.0))
    domain = lax.bitwise_and(domain, lax.bitwise_and(lax.ge(x, 0.0), lax.le(x, 1.0)))
    domain = lax.bitwise_and(domain, lax.bitwise_not(lax.bitwise_and(at_zero, at_one)))
    return lax.select_n(domain, np.nan, value)


def _factor(a, b, p, q):
    """``p ** a q ** b / B(a, b)``, from the saddle point ``p = a / (a + b)``."""
    total = add(a, b)
    off = sub(mul(p, b), mul(q, a))
    left = weighted_distance(a, off, mul(p, div(total, a)))
    right = weighted_distance(b, neg(off), mul(q, div(total, b)))
    error_a, root_a = inverse_factorial(a)
    error_b, root_b = inverse_factorial(b)
    error, root = inverse_factorial(total)
    power = exp(sub(sub(error, add(error_a, error_b)), add(left, right)))
    return mul(mul(power, mul(a, div(b, total))), div(div(root, root_a), root_b))


def _fraction(a, b, p, q):
    """The continued fraction by which ``_factor`` is multiplied, by the modified method of Lentz (I. J.
    Thompson and A. R. Barnett, 1986).
    """
    eps = 4 * epsilon(p)

    def more(n, c, d, f, change):
        return lax.bitwise_and(lax.gt(abs(change), eps), lax.lt(n, float(MOST_STEPS)))

    def step(held, n, c, d, f, change):
        n = add(n, 1.0)
        above, below = _numerator(n, *held), _denominator(n, *held)
        c = add(below, div(above, c))
        d = div(1.0, add(below, mul(above, d)))
        # What has converged stays, or its rounding errors would pile up while others are not there yet.
        ratio = lax.select_n(lax.gt(abs(change), eps), 1.0, mul(c, d))
        return n, c, d, mul(f, ratio), sub(ratio, 1.0)

    nought = full_like(p, 0)
    d = div(add(a, 1.0), mul(a, add(sub(mul(a, q), mul(b, p)), 1.0)))  # 1 / denominator number 0
    state = (nought, full_like(p, np.inf), d, d, full_like(p, 1))
    *_, f, change = repeat_while(more, step, state, (a, b, p, q))
    return lax.select_n(lax.gt(abs(change), eps), f, np.nan)


def _numerator(n, a, b, p, q):
    """Number ``n``, from 1 on."""
    last = sub(n, 1.0)
    width = sub(add(a, mul(n, 2.0)), 1.0)
    ends = mul(div(add(a, last), width), div(add(add(a, b), last), width))
    return mul(mul(ends, mul(n, sub(b, n))), mul(p, p))


def _denominator(n, a, b, p, q):
    """Number ``n``, from 1 on; number 0 lacks the term ``first``."""
    twice = add(a, mul(n, 2.0))
    first = div(mul(mul(n, sub(b, n)), p), sub(twice, 1.0))
    drift = add(sub(mul(a, q), mul(b, p)), add(mul(n, add(q, 1.0)), 1.0))
    return add(add(n, first), mul(div(add(a, n), add(twice, 1.0)), drift))


@regularized_incomplete_beta.rule("jvp")
def jvp_betainc(op, a, b, x):
    """The density, ``x ** (a - 1) (1 - x) ** (b - 1) / B(a, b)``."""
    if type(a.tangent) is not Zero or type(b.tangent) is not Zero:
        refusing(
            "the derivative of the incomplete beta function by its shapes a and b is not known in closed "
            "form and not offered; take them as constants (lax.stop_gradient)"
        )(op)
    out = op(a.primal, b.primal, x.primal)
    slope = _density(*typed(op, a.primal, b.primal, x.primal))
    return Dual(out, spread(mul(x.tangent, slope), typeof(out).shape))


def _density(a, b, x):
    logs = add(_times_log(sub(a, 1.0), x, log(x)), _times_log(sub(b, 1.0), x, log1p(neg(x))))
    return exp(add(logs, sub(lgamma(add(a, b)), add(lgamma(a), lgamma(b)))))


def _times_log(power, x, value):
    """``power * value``, 0 for power 0 also where the logarithm is infinite."""
    return lax.select_n(lax.eq(power, 0.0), mul(power, value), mul(x, 0.0))


__all__ = ["regularized_incomplete_beta"]
