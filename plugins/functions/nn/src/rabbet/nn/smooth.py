"""``silu``, ``mish``, ``gelu`` (by ``tanh``) and the gate of ``glu`` with derivatives of each order by
a formula of its own.

By the rules of their steps the second derivative would be made of the slope of ``logistic``, ``y (1 - y)``,
which is 0 where ``y`` rounds to 1, although what it is multiplied by there is all that the second derivative
consists of. Here the value, the slope and the slope's slope are each a formula of the number, in which
nothing cancels except where the result goes through 0. Value and slope are one operation each: reverse mode
keeps one array, the slope.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

from rabbet import dtypes, lax
from rabbet.extend.primitive import Dual, Primitive

if TYPE_CHECKING:
    from rabbet.extend.primitive import Op, ShapedArray
    from rabbet.typing import Value

FAR = 1000.0  # beyond, what follows has its limits, and an infinite number would give inf * 0
FAR_CUBED = 100.0  # the same where its cube is taken
GELU_RATE, GELU_CUBIC = 2 * math.sqrt(2 / math.pi), 0.044715


def not_below(x: Value) -> Value:
    return lax.max(x, -FAR)


def softplus(x: Value) -> Value:
    return lax.add(lax.max(x, 0.0), lax.log1p(lax.exp(lax.neg(lax.abs(x)))))


# ----------------------------------------------------------------------------- the slope of ``logistic``
def shares(x: Value) -> Value:
    """``logistic(x) * logistic(-x)``."""
    return lax.mul(lax.logistic(x), lax.logistic(lax.neg(x)))


def bend(x: Value) -> Value:
    """``tanh(x / 2)``, which is ``logistic(x) - logistic(-x)``."""
    return lax.tanh(lax.mul(x, 0.5))


def shares_slope(x: Value) -> Value:
    return lax.neg(lax.mul(shares(x), bend(x)))


def shares_curve(x: Value) -> Value:
    return lax.mul(shares(x), lax.sub(1.0, lax.mul(shares(x), 6.0)))


def both_shares(x: Value) -> Value:
    return smooth_activation(x, function="shares", order=0)


# ------------------------------------------------------------------------------------------------- silu
def silu(x: Value) -> Value:
    return lax.mul(not_below(x), lax.logistic(x))


def silu_slope(x: Value) -> Value:
    s, near = lax.logistic(x), lax.clamp(-FAR, x, FAR)
    return lax.mul(s, lax.add(lax.mul(near, lax.sub(1.0, s)), 1.0))


def silu_curve(x: Value) -> Value:
    near = lax.clamp(-FAR, x, FAR)
    return lax.mul(both_shares(near), lax.sub(2.0, lax.mul(near, bend(near))))


# ------------------------------------------------------------------------------------------------- mish
def mish(x: Value) -> Value:
    return lax.mul(not_below(x), lax.tanh(softplus(x)))


def mish_slope(x: Value) -> Value:
    t, near = lax.tanh(softplus(x)), lax.clamp(-FAR, x, FAR)
    rest = lax.mul(lax.sub(1.0, t), lax.add(t, 1.0))
    return lax.add(t, lax.mul(lax.mul(near, lax.logistic(x)), rest))


def polynomial(x: Value, *coefficients: float) -> Value:
    """By Horner's rule, from the highest power on."""
    out = lax.add(lax.mul(x, coefficients[0]), coefficients[1])
    for c in coefficients[2:]:
        out = lax.add(lax.mul(out, x), c)
    return out


def mish_curve(x: Value) -> Value:
    """``2 g + x g'`` for ``g = 4 e (e + 1) / (e**2 + 2 e + 2)**2``, the slope of ``tanh(softplus(x))`` with
    ``e = exp(x)``. Where ``x`` is positive, by ``u = exp(-x)``, so that nothing overflows.
    """
    near = lax.clamp(-FAR, x, FAR)
    positive = lax.gt(near, 0.0)
    u = lax.exp(lax.select(positive, lax.neg(near), near))
    below = 1.0, lax.div(1.0, polynomial(u, 1.0, 2.0, 2.0)), (-2.0, -3.0, 2.0, 2.0)
    above = u, lax.div(1.0, polynomial(u, 2.0, 2.0, 1.0)), (2.0, 2.0, -3.0, -2.0)
    sides = []
    for power, share, top in (above, below):
        size = lax.mul(lax.mul(lax.mul(u, 4.0), power), lax.mul(share, share))
        inner = lax.mul(near, lax.mul(polynomial(u, *top), share))
        sides.append(lax.mul(size, lax.add(lax.mul(lax.add(u, 1.0), 2.0), inner)))
    return lax.select(positive, *sides)


# ------------------------------------------------------------------------------------------------- gelu
def gelu_inner(x: Value) -> Value:
    """``u`` in ``x * logistic(u)``, which is ``x * (1 + tanh(u / 2)) / 2``, but nothing cancels in it."""
    return lax.mul(x, lax.mul(lax.add(lax.mul(lax.mul(x, x), GELU_CUBIC), 1.0), GELU_RATE))


def gelu_steep(x: Value) -> Value:
    """``u'``."""
    return lax.mul(lax.add(lax.mul(lax.mul(x, x), 3 * GELU_CUBIC), 1.0), GELU_RATE)


def gelu_by_tanh(x: Value) -> Value:
    near = lax.clamp(-FAR_CUBED, x, FAR_CUBED)
    return lax.mul(lax.max(x, -FAR_CUBED), lax.logistic(gelu_inner(near)))


def gelu_by_tanh_slope(x: Value) -> Value:
    near = lax.clamp(-FAR_CUBED, x, FAR_CUBED)
    s = lax.logistic(gelu_inner(near))
    rest = lax.mul(lax.mul(near, gelu_steep(near)), lax.sub(1.0, s))
    return lax.mul(s, lax.add(rest, 1.0))


def gelu_by_tanh_curve(x: Value) -> Value:
    """``s q (2 u' + x u'' - x u'**2 tanh(u / 2))`` with ``s = logistic(u)``, ``q = logistic(-u)``."""
    near = lax.clamp(-FAR_CUBED, x, FAR_CUBED)
    inner, steep = gelu_inner(near), gelu_steep(near)
    grows = lax.mul(lax.mul(near, near), 6 * GELU_CUBIC * GELU_RATE)  # x u''
    turns = lax.mul(lax.mul(near, lax.mul(steep, steep)), bend(inner))
    return lax.mul(both_shares(inner), lax.sub(lax.add(lax.mul(steep, 2.0), grows), turns))


ORDERS: dict[str, tuple[Callable[[Value], Value], ...]] = {
    "logistic": (lax.logistic, shares, shares_slope),
    "shares": (shares, shares_slope, shares_curve),
    "silu": (silu, silu_slope, silu_curve),
    "mish": (mish, mish_slope, mish_curve),
    "gelu_by_tanh": (gelu_by_tanh, gelu_by_tanh_slope, gelu_by_tanh_curve),
}


def of_real_numbers(x: ShapedArray, function: str, order: int = 0) -> ShapedArray:
    if dtypes.kind(x.dtype) != "f":
        raise TypeError(f"smooth_activation takes an array of floats, got {x.str_short()}")
    return x


smooth_activation = Primitive(
    "smooth_activation", of_real_numbers, kinds=("elementwise", "finite_slope"), operands=("x",),
    doc="an activation with derivatives by formulas of their own, or its slope",
    parameters={
        "function": "str: which one, a name in ORDERS",
        "order": "int: 0 for the value, 1 for the slope",
    },
)  # fmt: skip


@smooth_activation.decompose
def by_formula(op: Op, x: Value) -> Value:
    return ORDERS[op.params["function"]][op.params["order"]](x)


@smooth_activation.rule("jvp")
def jvp_smooth_activation(op: Op, x: Dual) -> Dual:
    function, order = op.params["function"], op.params["order"]
    if order:
        slope = ORDERS[function][order + 1](x.primal)
    else:
        slope = smooth_activation(x.primal, function=function, order=1)
    return Dual(op(x.primal), lax.mul(x.tangent, slope))


__all__ = ["FAR", "not_below", "smooth_activation", "softplus"]
