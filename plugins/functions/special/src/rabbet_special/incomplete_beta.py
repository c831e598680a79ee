"""The regularized incomplete beta function, the distribution function of a beta variable, and its complement.

The methods are in ``beta_methods``.
"""

import numpy as np
from rabbet import lax
from rabbet.extend.primitive import Dual, Primitive, Zero
from rabbet.extend.rules import spread
from rabbet.extend.transform import refusing, typeof
from rabbet.lax import add, exp, log, log1p, mul, neg, sub

from rabbet_special.beta_methods import both_tails, density
from rabbet_special.gamma import lgamma
from rabbet_special.numerics import elementwise_type, full_like, in_single, typed


def incomplete(name, called, doc):
    """Make a primitive of the operands ``a``, ``b`` and ``x``."""

    def abstract(a, b, x):
        return elementwise_type(name, a, b, x)

    primitive = Primitive(
        name, abstract, kinds=("elementwise",), operands=("a", "b", "x"), doc=doc,
    )  # fmt: skip
    for place in ("__name__", "__qualname__"):
        setattr(primitive, place, called)
    return primitive


regularized_incomplete_beta = incomplete(
    "regularized_incomplete_beta", "betainc",
    """I_x(a, b), the probability that a beta variable with shapes a and b is below x

    >>> lax.betainc(2.0, 3.0, rnp.array([0.25, 0.5]))
    Array([0.26171..., 0.687...], dtype=float32)
    """,
)  # fmt: skip
incomplete_beta_complement = incomplete(
    "incomplete_beta_complement", "betaincc",
    """1 - I_x(a, b), the probability that a beta variable with shapes a and b is above x, without the
    difference

    >>> lax.betaincc(2.0, 3.0, rnp.array([0.25, 0.5]))
    Array([0.738..., 0.312...], dtype=float32)
    """,
)  # fmt: skip


@regularized_incomplete_beta.decompose
def betainc_of(op, a, b, x):
    return in_single(lambda a, b, x: _regularized(a, b, x, False), op, a, b, x)


@incomplete_beta_complement.decompose
def betaincc_of(op, a, b, x):
    return in_single(lambda a, b, x: _regularized(a, b, x, True), op, a, b, x)


def _regularized(a, b, x, upper):
    valid = _inside(a, b, x)
    # The shapes of what is not valid need no step of a loop.
    held = [lax.select_n(valid, full_like(x, fine), v) for v, fine in ((a, 1.0), (b, 1.0), (x, 0.5))]
    value = both_tails(*held)[upper]
    return lax.select_n(valid, _limits(a, b, x, upper), value)


def _inside(a, b, x):
    inside = lax.bitwise_and(_positive(x), lax.lt(x, 1.0))
    return lax.bitwise_and(lax.bitwise_and(_positive(a), _positive(b)), inside)


def _positive(x):
    return lax.bitwise_and(lax.gt(x, 0.0), lax.lt(x, np.inf))


def _limits(a, b, x, upper):
    """The values at the ends of the interval and for shapes 0 and infinity, by which all the probability is
    at one end; NaN outside the domain.
    """
    at_zero = lax.bitwise_or(lax.eq(a, 0.0), lax.eq(b, np.inf))
    at_one = lax.bitwise_or(lax.eq(b, 0.0), lax.eq(a, np.inf))
    value = lax.select_n(at_zero, mul(x, 0.0), 1.0)
    ends = lax.bitwise_or(lax.eq(x, 0.0), lax.eq(x, 1.0))
    value = lax.select_n(ends, value, x)
    if upper:
        value = sub(1.0, value)
    domain = lax.bitwise_and(lax.ge(a, 0.0), lax.ge(b, 0.0))
    domain = lax.bitwise_and(domain, lax.bitwise_and(lax.ge(x, 0.0), lax.le(x, 1.0)))
    domain = lax.bitwise_and(domain, lax.bitwise_not(lax.bitwise_and(at_zero, at_one)))
    return lax.select_n(domain, np.nan, value)


@regularized_incomplete_beta.rule("jvp")
def jvp_betainc(op, a, b, x):
    return _jvp(op, a, b, x, _density)


@incomplete_beta_complement.rule("jvp")
def jvp_betaincc(op, a, b, x):
    return _jvp(op, a, b, x, lambda *args: neg(_density(*args)))


def _jvp(op, a, b, x, slope):
    if type(a.tangent) is not Zero or type(b.tangent) is not Zero:
        refusing(
            "the derivative of the incomplete beta function by its shapes a and b is not known in closed "
            "form and not offered; take them as constants (lax.stop_gradient)"
        )(op)
    out = op(a.primal, b.primal, x.primal)
    slope = slope(*typed(op, a.primal, b.primal, x.primal))
    return Dual(out, spread(mul(x.tangent, slope), typeof(out).shape))


def _density(a, b, x):
    """``x ** (a - 1) (1 - x) ** (b - 1) / B(a, b)``."""
    inside = _inside(a, b, x)
    held = [lax.select_n(inside, full_like(x, fine), v) for v, fine in ((a, 1.0), (b, 1.0), (x, 0.5))]
    # At the ends of the interval, where the distances above are infinite, by logarithms.
    y = lax.select_n(inside, x, full_like(x, 0.5))
    logs = add(_times_log(sub(a, 1.0), y, log(y)), _times_log(sub(b, 1.0), y, log1p(neg(y))))
    at_ends = exp(add(logs, sub(lgamma(add(a, b)), add(lgamma(a), lgamma(b)))))
    return lax.select_n(inside, at_ends, density(*held))


def _times_log(power, x, value):
    """``power * value``, 0 for power 0 also where the logarithm is infinite."""
    return lax.select_n(lax.eq(power, 0.0), mul(power, value), mul(x, 0.0))


__all__ = ["incomplete_beta_complement", "regularized_incomplete_beta"]
