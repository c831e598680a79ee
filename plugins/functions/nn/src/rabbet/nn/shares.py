"""Shares ``exp(x) / sum(exp(x))`` over axes, and logarithms of such sums, with derivatives of each order in
which nothing cancels where one share rounds to 1.

There the other shares are all that a derivative consists of. A difference to the mean that the shares weigh,
``t - sum(shares * t)``, is 0 by its steps at the share of 1, though it is minus the sum of what the other
elements have more. So it is taken relative to the element with more than half (there is one at most):
``u - sum(shares * u)`` for ``u = t - t[that]``, in which that element itself counts nothing. Two things are
exact within the rounding of 1 alone: the logarithm of a share that is nearly 1, for the sake of memory, and
first derivatives of shares and of their logarithms in reverse mode, where a second sum would be a second
reduction between devices that have parts of the axis.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rabbet import dtypes, lax
from rabbet.extend.functions import is_evaluating
from rabbet.extend.primitive import Batched, Dual, Primitive, Zero, keep_apart
from rabbet.extend.rules import at_front
from rabbet.extend.transform import typeof

if TYPE_CHECKING:
    from typing import Any

    from rabbet.extend.primitive import Linear, Op, ShapedArray
    from rabbet.typing import Value

AXES = {"axes": "tuple of ints: the axes that are summed over"}
# Below this many elements computing again costs less than keeping.
WORTH_KEEPING = 1024


def back(reduced, axes, shape):
    """A reduced array repeated to the shape that it was reduced from."""
    kept = tuple([d for d in range(len(shape)) if d not in axes])
    return lax.broadcast_in_dim(reduced, shape, kept)


def plain_shift(x, axes):
    """``x`` less its maximum over axes, which is not differentiated."""
    return lax.sub(x, back(lax.reduce_max(lax.stop_gradient(x), axes), axes, x.shape))


def spread_sum(x: Value, axes: tuple[int, ...]) -> Value:
    """The sum over axes, in the shape of ``x``."""
    return back(lax.reduce_sum(x, axes), axes, typeof(x).shape)


def most(shares: Value) -> Value:
    """1 at the element with more than half, else 0; complex numbers have no such. By rounding, since XLA for
    CPUs keeps an array of what is selected in a sum.
    """
    if dtypes.kind(typeof(shares).dtype) == "c":
        return lax.full_like(shares, 0)
    return lax.round(shares, lax.RoundingMethod.TO_NEAREST_EVEN)


def less_that_of_most(t: Value, shares: Value, axes: tuple[int, ...]) -> Value:
    return lax.sub(t, spread_sum(lax.mul(t, most(shares)), axes))


def of_any(x: ShapedArray, axes: tuple[int, ...]) -> ShapedArray:
    return x


def of_shares(t: ShapedArray, shares: ShapedArray, axes: tuple[int, ...]) -> ShapedArray:
    if t.shape != shares.shape or t.dtype != shares.dtype:
        raise TypeError(f"takes two arrays of one type, got {t.str_short()}, {shares.str_short()}")
    return t.strong()


def reduced(x: ShapedArray, axes: tuple[int, ...]) -> ShapedArray:
    return x.update(shape=tuple([n for d, n in enumerate(x.shape) if d not in axes]))


def over_axes(name: str, aval: Any, operands: tuple[str, ...], doc: str) -> Primitive:
    """A primitive whose axes move up behind the dimension of a batch."""
    primitive = Primitive(name, aval, operands=operands, doc=doc, parameters=AXES)

    @primitive.rule("batch")
    def batch_over_axes(op: Op, *operands: Batched) -> Batched:
        axes = tuple([a + 1 for a in op.params["axes"]])
        return Batched(op.primitive(*at_front(*operands), axes=axes), 0)

    return primitive


shares_of_powers = over_axes(
    "shares_of_powers",
    of_any,
    ("x",),
    "exp(x) / sum(exp(x)) over axes; its derivative keeps the result alone",
)
shares_of_slopes = over_axes(
    "shares_of_slopes", of_any, ("x",), "as shares_of_powers, with exact derivatives in reverse mode, too"
)
log_of_shares = over_axes("log_of_shares", of_any, ("x",), "the logarithm of exp(x) / sum(exp(x)) over axes")
log_of_powers = over_axes("log_of_powers", reduced, ("x",), "log(sum(exp(x))) over axes, without overflow")
less_weighed_mean = over_axes(
    "less_weighed_mean",
    of_shares,
    ("t", "shares"),
    "t - sum(shares * t) over axes, for shares that add up to 1",
)
moved_shares = over_axes(
    "moved_shares",
    of_shares,
    ("t", "shares"),
    "shares * (t - sum(shares * t)) over axes, for shares of sum 1",
)
change_of_shares = over_axes(
    "change_of_shares", of_shares, ("t", "shares"), "as moved_shares; its transpose is pulled_shares"
)
pulled_shares = over_axes(
    "pulled_shares",
    of_shares,
    ("ct", "shares"),
    "as moved_shares, by one sum: exact within the rounding of 1",
)


# -------------------------------------------------------------------------------------------- the functions
@shares_of_slopes.decompose
@shares_of_powers.decompose
def by_powers(op: Op, x: Value) -> Value:
    axes = op.params["axes"]
    powers = lax.exp(plain_shift(x, axes))
    return lax.mul(powers, back(lax.div(1.0, lax.reduce_sum(powers, axes)), axes, x.shape))


def log_of_total(shifted: Value, axes: tuple[int, ...]) -> Value:
    """``log(sum(exp(shifted)))``. Of numbers whose largest is 0, so where that is nearly alone the result is
    exact within the rounding of 1 and not of itself: to sum the others alone, XLA for CPUs keeps an array.
    """
    return lax.log(lax.reduce_sum(lax.exp(shifted), axes))


@log_of_shares.decompose
def less_log_of_total(op: Op, x: Value) -> Value:
    axes = op.params["axes"]
    shifted = plain_shift(x, axes)
    return lax.sub(shifted, back(log_of_total(shifted, axes), axes, x.shape))


@log_of_powers.decompose
def top_and_log_of_total(op: Op, x: Value) -> Value:
    """An infinite maximum counts as 0, so that the result is it."""
    axes = op.params["axes"]
    top = lax.reduce_max(x, axes)
    top = lax.select(lax.is_finite(top), top, lax.full_like(top, 0))
    return lax.add(log_of_total(lax.sub(x, back(top, axes, x.shape)), axes), top)


@less_weighed_mean.decompose
def less_mean_by_steps(op: Op, t: Value, shares: Value) -> Value:
    axes = op.params["axes"]
    u = less_that_of_most(t, shares, axes)
    return lax.sub(u, spread_sum(lax.mul(shares, u), axes))


@change_of_shares.decompose
@moved_shares.decompose
def moved_by_steps(op: Op, t: Value, shares: Value) -> Value:
    return lax.mul(less_mean_by_steps(op, t, shares), shares)


@pulled_shares.decompose
def pulled_by_steps(op: Op, ct: Value, shares: Value) -> Value:
    return lax.mul(lax.sub(ct, spread_sum(lax.mul(ct, shares), op.params["axes"])), shares)


# -------------------------------------------------------------------------------------------- derivatives
@shares_of_powers.rule("jvp")
def jvp_shares_of_powers(op: Op, x: Dual) -> Dual:
    """Of the result alone, which attention keeps for its product with the values anyway. By the rules of its
    steps the powers would be kept beside it, an array as large; and so they would be without the barrier,
    since XLA for CPUs makes the result of them once more where the derivative reads it.
    """
    axes, out = op.params["axes"], op(x.primal)
    if not is_evaluating(beneath=True) and worth_keeping(typeof(out)):
        out = keep_apart(out)
    return Dual(out, change_of_shares(x.tangent, out, axes=axes))


@shares_of_slopes.rule("jvp")
def jvp_shares_of_slopes(op: Op, x: Dual) -> Dual:
    out = op(x.primal)
    return Dual(out, moved_shares(x.tangent, out, axes=op.params["axes"]))


def worth_keeping(x: ShapedArray) -> bool:
    return x.is_symbolic or x.size >= WORTH_KEEPING


@log_of_shares.rule("jvp")
def jvp_log_of_shares(op: Op, x: Dual) -> Dual:
    shares = shares_of_slopes(x.primal, axes=op.params["axes"])
    return Dual(op(x.primal), less_weighed_mean(x.tangent, shares, axes=op.params["axes"]))


@log_of_powers.rule("jvp")
def jvp_log_of_powers(op: Op, x: Dual) -> Dual:
    axes = op.params["axes"]
    shares = shares_of_slopes(x.primal, axes=axes)
    return Dual(op(x.primal), lax.reduce_sum(lax.mul(x.tangent, shares), axes))


def tangent_of_both(op: Op, x: Dual, shares: Dual, by_shares: Any) -> Dual:
    """What is linear in its first operand moves with that, and with the shares as ``by_shares`` says. The
    changes of shares add up to 0.
    """
    tangent = None if type(x.tangent) is Zero else op(x.tangent, shares.primal)
    if type(shares.tangent) is not Zero:
        more = by_shares(shares.tangent)
        tangent = more if tangent is None else lax.add(tangent, more)
    return Dual(op(x.primal, shares.primal), tangent)


@less_weighed_mean.rule("jvp")
def jvp_less_weighed_mean(op: Op, t: Dual, shares: Dual) -> Dual:
    axes = op.params["axes"]

    def by_shares(change: Value) -> Value:
        return lax.neg(spread_sum(lax.mul(change, less_that_of_most(t.primal, shares.primal, axes)), axes))

    return tangent_of_both(op, t, shares, by_shares)


@change_of_shares.rule("jvp")
@pulled_shares.rule("jvp")
@moved_shares.rule("jvp")
def jvp_moved_shares(op: Op, t: Dual, shares: Dual) -> Dual:
    axes = op.params["axes"]

    def by_shares(change: Value) -> Value:
        centered = less_weighed_mean(t.primal, shares.primal, axes=axes)
        u = less_that_of_most(t.primal, shares.primal, axes)
        both = lax.mul(shares.primal, spread_sum(lax.mul(change, u), axes))
        return lax.sub(lax.mul(change, centered), both)

    return tangent_of_both(op, t, shares, by_shares)


@moved_shares.rule("transpose")
@pulled_shares.rule("transpose")
def transpose_moved_shares(op: Op, ct: Value, t: Linear, shares: Value) -> tuple[Value | None, ...]:
    return op(ct, shares), None


@change_of_shares.rule("transpose")
def transpose_change_of_shares(op: Op, ct: Value, t: Linear, shares: Value) -> tuple[Value | None, ...]:
    return pulled_shares(ct, shares, axes=op.params["axes"]), None


@less_weighed_mean.rule("transpose")
def transpose_less_weighed_mean(op: Op, ct: Value, t: Linear, shares: Value) -> tuple[Value | None, ...]:
    """By steps: 1 less the largest share is exact within the rounding of 1. To take it for the sum of the
    others, XLA for CPUs keeps two arrays as large as ``ct``, which the loss of a language model would feel.
    """
    return lax.sub(ct, lax.mul(shares, spread_sum(ct, op.params["axes"]))), None


__all__ = ["back", "log_of_powers", "log_of_shares", "plain_shift", "shares_of_powers"]
