"""Operations whose region combines two elements, as reductions have one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rabbet.trace.staging import stage

if TYPE_CHECKING:
    from rabbet.lowering.operation import Site
    from rabbet.primitives.elementwise import Product
    from rabbet.rules.primitive import Primitive


def emit_pairs(op: Site, head: str, combine: Product | Primitive, types: str) -> str:
    """Write an operation of one result whose region combines two elements; return the result's name.

    Args:
      head: the operation with its operands and attributes, up to the region.
      combine: from two scalars of the result's dtype to one.
      types: what stands behind the region.

    Example:
      >>> from rabbet.extend.primitive import Primitive
      >>> from rabbet.extend.rules import emit_pairs
      >>> total = Primitive("total_of_pairs", lambda x: x.update(shape=()))
      >>> @total.rule("lower")
      ... def lower_total(op, x):
      ...     zero, aval = op.constant(0, op.out), op.in_avals[0]
      ...     head = f'"stablehlo.reduce"({x}, {zero}) <{{dimensions = array<i64: 0>}}>'
      ...     return emit_pairs(op, head, lax.add, f": ({aval.mlir}, {op.out.mlir}) -> {op.out.mlir}")
      >>> total(np.float32([1, 2, 4]))
      Array(7., dtype=float32)
    """
    scalar = op.out.update(shape=(), weak_type=False)
    program = stage(lambda a, b: [combine(a, b)], [scalar, scalar], op.primitive.name).jaxpr
    return op.emit_regions(head, [(program, [])], types, 1, closed=True)[0]


__all__ = ["emit_pairs"]
