"""The derivative of what has none."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rabbet.rules.payloads import Dual, zero_tangent
from rabbet.trace.interpreter import typeof

if TYPE_CHECKING:
    from rabbet.rules.operator import Op


def no_tangent(op: Op, *duals: Dual) -> Any:
    """The jvp rule of operations that carry no derivative: integers, comparisons, roundings.

    Example:
      >>> from rabbet.extend.primitive import Dual, no_tangent
      >>> no_tangent(lax.floor.op(), Dual(2.5, 1.0)).tangent
      Zero(f32[])
    """
    out = op(*[d.primal for d in duals])
    if op.primitive.multiple_results:
        return [Dual(o, zero_tangent(typeof(o))) for o in out]
    return Dual(out, zero_tangent(typeof(out)))


__all__ = ["no_tangent"]
