"""The larger and the smaller of two numbers: max, min, clamp."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rabbet.errors import ShapeError
from rabbet.primitives import batching, checks, complex_order, logic, zeros
from rabbet.primitives.checks import NUMBERS
from rabbet.primitives.convert import to_dtype
from rabbet.primitives.elementwise import add, add_tangents, binary, mul, sub
from rabbet.primitives.layout import broadcast_in_dim
from rabbet.rules.payloads import Batched, Dual, Zero, zero_tangent
from rabbet.rules.primitive import Primitive
from rabbet.trace.interpreter import typeof

if TYPE_CHECKING:
    from rabbet.lowering.operation import Site
    from rabbet.program.avals import ShapedArray
    from rabbet.rules.operator import Op
    from rabbet.typing import Value


def _chosen(x: Any, out: Any) -> Any:
    """1 where ``x`` is the chosen one, one half on ties, so that both sides of a tie share the derivative."""
    return to_dtype(logic.eq(x, out), typeof(out).dtype)


def _share(mine: Value, other: Value, out: Value, beyond: Primitive, level: Primitive) -> Value:
    """1 where ``mine`` is the chosen one, one half on ties, so that both sides of a tie share the derivative.

    The operands are compared with each other and not with the result: a compiler may compute an operand
    twice, once for each use, and round it in another way (as a fused multiplication and addition), so that
    neither equals the result and the derivative is lost. Complex numbers have no comparison of this kind.
    """
    if typeof(out).kind == "c":
        won = _chosen(mine, out)
        return sub(won, mul(mul(won, _chosen(other, out)), 0.5))
    dtype = typeof(out).dtype
    sides = [to_dtype(compare(mine, other), dtype) for compare in (beyond, level)]
    return mul(add(*sides), 0.5)


def _share_of_larger(mine: Value, other: Value, out: Value) -> Value:
    return _share(mine, other, out, logic.gt, logic.ge)


def _share_of_smaller(mine: Value, other: Value, out: Value) -> Value:
    return _share(mine, other, out, logic.lt, logic.le)


max = binary(  # JAX's name
    "max", "stablehlo.maximum", NUMBERS + "b", kinds=("increasing", "finite_slope"),
    partials=(_share_of_larger, lambda x, y, out: _share_of_larger(y, x, out)),
    doc="the larger of x and y; NaN if either is; complex numbers by their real parts first",
    complex_pick=complex_order.larger,  # StableHLO compares real parts only
)  # fmt: skip
min = binary(  # JAX's name
    "min", "stablehlo.minimum", NUMBERS + "b", kinds=("increasing", "finite_slope"),
    partials=(_share_of_smaller, lambda x, y, out: _share_of_smaller(y, x, out)),
    doc="the smaller of x and y; NaN if either is; complex numbers by their real parts first",
    complex_pick=complex_order.smaller,
)  # fmt: skip


# -------------------------------------------------------------------------------------------------- clamp
def clamp_aval(low: ShapedArray, x: ShapedArray, high: ShapedArray) -> ShapedArray:
    checks.accept("clamp", NUMBERS + "b", low, x, high)
    checks.same_dtype("clamp", x, low, high)
    for bound in (low, high):
        if bound.shape and bound.shape != x.shape:
            raise ShapeError(
                f"clamp: bounds are scalars or have the shape of {x.str_short()}, got {bound.str_short()}"
            )
    return x


clamp = Primitive(
    "clamp", clamp_aval, kinds=("increasing", "elementwise", "finite_slope"), operands=("min", "x", "max"),
    doc="min(max(x, low), high)",
)  # fmt: skip


@clamp.rule("lower")
def lower_clamp(op: Site, low: str, x: str, high: str) -> str:
    a, b, c = (aval.mlir for aval in op.in_avals)
    low = op.broadcast_operand(low, op.in_avals[0], op.out.shape)
    high = op.broadcast_operand(high, op.in_avals[2], op.out.shape)
    if op.out.kind in "cb":
        parts = lambda low, x, high: [min(max(x, low), high)]
        return op.write(parts, [op.out.strong()] * 3, [low, x, high])[0]
    return op.emit(f"stablehlo.clamp {low}, {x}, {high} : {op.out.mlir}") if a and c else b


def _precedes(x: Any, y: Any) -> Any:
    """``x < y``, also for complex numbers."""
    return complex_order.before(x, y) if typeof(x).kind == "c" else logic.lt(x, y)


@clamp.rule("jvp")
def jvp_clamp(op: Op, low: Any, x: Any, high: Any) -> Any:
    out = op(low.primal, x.primal, high.primal)
    shape = typeof(out).shape
    below, above = _precedes(x.primal, low.primal), _precedes(high.primal, x.primal)
    inside = logic.bitwise_not(logic.bitwise_or(below, above))
    tangent = zero_tangent(typeof(out))
    for dual, where in ((low, below), (x, inside), (high, above)):
        if type(dual.tangent) is not Zero:
            moved = zeros.spread(dual.tangent, shape)
            tangent = add_tangents(
                tangent, logic.select_n(where, zeros.full_of_type(typeof(moved), 0), moved)
            )
    return Dual(out, tangent)


@clamp.rule("batch")
def batch_clamp(op: Op, low: Batched, x: Batched, high: Batched) -> Batched:
    """Bounds that are the same for all stay scalars; one for each example is spread over it."""
    one_for_all = [b.axis is None and typeof(b.value).ndim == 0 for b in (low, high)]
    if x.axis is not None and all(one_for_all):
        return Batched(op(low.value, x.value, high.value), x.axis)
    size = batching.batch_size(low, x, high)
    value = batching.at_axis(x, 0, size)
    shape = typeof(value).shape

    def bound(b: Batched, is_one: bool) -> Value:
        if is_one:
            return b.value
        spread = batching.at_axis(b, 0, size)
        if typeof(spread).ndim == len(shape):
            return spread
        return broadcast_in_dim(spread, shape=shape, broadcast_dimensions=(0,))

    return Batched(op(bound(low, one_for_all[0]), value, bound(high, one_for_all[1])), 0)


__all__ = ["clamp", "max", "min"]
