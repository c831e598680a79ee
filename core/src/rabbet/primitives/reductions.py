"""Reductions over axes: prod, max, min. Those by sum, and, or, xor are in ``basic_reductions.py``."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

from rabbet import dtypes
from rabbet.primitives import (
    barrier,
    convert,
    elementwise,
    extremes,
    logic,
    shape,
    zeros,
)
from rabbet.primitives.basic_reductions import (
    extreme,
    outside,
    reduce_and,
    reduce_or,
    reduce_sum,
    reduce_xor,
    reduction,
    spread_back,
)  # fmt: skip
from rabbet.primitives.checks import NUMBERS
from rabbet.rules.payloads import Dual
from rabbet.trace.interpreter import typeof

if TYPE_CHECKING:
    from rabbet.rules.operator import Op

reduce_prod = reduction(
    "reduce_prod", "stablehlo.multiply", NUMBERS, lambda dtype: 1, "the product over axes"
)
reduce_max = reduction(
    "reduce_max", "stablehlo.maximum", NUMBERS + "b", lambda t: extreme(t, False), "the maximum over axes",
    kinds=("increasing", "finite_slope"), of_complex=extremes.max,
)  # fmt: skip
reduce_min = reduction(
    "reduce_min", "stablehlo.minimum", NUMBERS + "b", lambda t: extreme(t, True), "the minimum over axes",
    kinds=("increasing", "finite_slope"), of_complex=extremes.min,
)  # fmt: skip


def jvp_reduce_extreme(op: Op, x: Dual) -> Dual:
    """The mean of the tangents at the places where the extreme is taken.

    The operand is kept apart: a compiler that computes it twice, once to reduce and once to compare, may
    round it in two ways, and then no place has the extreme.
    """
    aval = typeof(x.primal)
    primal = barrier.keep_apart(x.primal) if dtypes.kind(aval.dtype) in "fc" else x.primal
    out = op(primal)
    here = convert.to_dtype(logic.eq(primal, spread_back(op, out, aval)), aval.dtype)
    count = reduce_sum(here, axes=op.params["axes"])
    return Dual(
        out, elementwise.div(reduce_sum(elementwise.mul(x.tangent, here), axes=op.params["axes"]), count)
    )


reduce_max.rule("jvp")(jvp_reduce_extreme)
reduce_min.rule("jvp")(jvp_reduce_extreme)


@reduce_prod.rule("jvp")
def jvp_reduce_prod(op: Op, x: Any) -> Any:
    """Halves are multiplied until one element is left, ``d(a b) = a db + b da``: exact where some are zero,
    and in a logarithmic number of steps, over the reduced axes flattened to one.
    """
    out = op(x.primal)
    aval = typeof(x.primal)
    axes = op.params["axes"]
    if not axes:
        return Dual(out, x.tangent)
    order = (*outside(op, aval), *axes)
    kept = typeof(out).shape

    n = prod(aval.shape[a] for a in axes)
    if n == 0:
        return Dual(out, zeros.full_of_type(typeof(out).strong(), 0))
    values = shape.reshape(shape.transpose(x.primal, permutation=order), new_sizes=(*kept, n))
    tangents = shape.reshape(shape.transpose(x.tangent, permutation=order), new_sizes=(*kept, n))
    last = len(kept)

    def part(v: Any, start: Any, stop: Any) -> Any:
        low, high = (0,) * last + (start,), (*kept, stop)
        return shape.slice(v, start_indices=low, limit_indices=high, strides=None)

    while n > 1:
        half = n // 2
        a, b = part(values, 0, half), part(values, half, 2 * half)
        da, db = part(tangents, 0, half), part(tangents, half, 2 * half)
        product = elementwise.mul(a, b)
        moved = elementwise.add(elementwise.mul(da, b), elementwise.mul(db, a))
        if n % 2:
            product = shape.concatenate(product, part(values, n - 1, n), dimension=last)
            moved = shape.concatenate(moved, part(tangents, n - 1, n), dimension=last)
        values, tangents, n = product, moved, half + n % 2
    return Dual(out, shape.reshape(tangents, new_sizes=kept))


__all__ = [
    "reduce_and", "reduce_max", "reduce_min", "reduce_or", "reduce_prod", "reduce_sum", "reduce_xor",
]  # fmt: skip
