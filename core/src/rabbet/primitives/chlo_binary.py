"""Elementwise operations of two operands that CHLO has and StableHLO has not: neighbouring floats, the upper
half of a product. XLA expands them itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from rabbet import dtypes
from rabbet.primitives import checks, convert, elementwise, logic, zeros
from rabbet.primitives.checks import FLOATS, INTEGERS
from rabbet.primitives.no_tangent import no_tangent
from rabbet.rules.payloads import Dual, Zero, zero_tangent
from rabbet.rules.primitive import Primitive
from rabbet.trace.interpreter import typeof

if TYPE_CHECKING:
    from rabbet.lowering.operation import Site
    from rabbet.program.avals import ShapedArray
    from rabbet.rules.operator import Op


def binary(
    name: str,
    hlo: str,
    accepts: str,
    doc: str,
    operands: tuple[str, ...] = ("x", "y"),
    spelled: Callable[..., Any] | None = None,
) -> Primitive:
    """Make a binary elementwise primitive of one CHLO operation, with the names of its operands; its jvp
    rule follows the call. ``spelled`` computes the same from other operations, for programs over several
    devices, in which the compiler does not know the operation.
    """

    def abstract(x: ShapedArray, y: ShapedArray) -> ShapedArray:
        checks.accept(name, accepts, x, y)
        return checks.elementwise_aval(name, x, y)

    primitive = Primitive(name, abstract, kinds=("elementwise",), operands=operands, doc=doc)

    @primitive.rule("lower")
    def lower_binary(op: Site, x: str, y: str) -> str:
        a, b = op.in_avals
        out = op.out
        x, y = op.broadcast_operand(x, a, out.shape), op.broadcast_operand(y, b, out.shape)
        if spelled is not None and op.cut_over > 1:
            return op.write(lambda x, y: [spelled(x, y)], [out, out], [x, y])[0]
        return op.emit(f"{hlo} {x}, {y} : {out.mlir}, {out.mlir} -> {out.mlir}")

    return primitive


def upper_half(x: Any, y: Any) -> Any:
    """The upper half of a product. Of numbers up to 32 bits, from the product in 64 bits; of longer ones,
    from the products of their halves (Warren, "Hacker's Delight", 2nd edition, 8-2).
    """
    dtype = typeof(x).dtype
    bits, unsigned = 8 * dtype.itemsize, dtypes.kind(dtype) == "u"
    wide = np.dtype("uint64" if unsigned else "int64")
    down = logic.shift_right_logical if unsigned else logic.shift_right_arithmetic

    def number(n: Any) -> Any:
        return zeros.full_of_type(typeof(x).update(dtype=wide, weak_type=False), n)

    if bits < 64:
        product = elementwise.mul(convert.to_dtype(x, wide), convert.to_dtype(y, wide))
        return convert.to_dtype(down(product, number(bits)), dtype)
    half, low = number(32), number(2**32 - 1)
    (x0, x1), (y0, y1) = [(logic.bitwise_and(z, low), down(z, half)) for z in (x, y)]
    carried = logic.shift_right_logical(elementwise.mul(x0, y0), half)
    middle = elementwise.add(elementwise.mul(x1, y0), carried)
    other = elementwise.add(elementwise.mul(x0, y1), logic.bitwise_and(middle, low))
    return elementwise.add(elementwise.mul(x1, y1), elementwise.add(down(middle, half), down(other, half)))


nextafter = binary(
    "nextafter",
    "chlo.next_after",
    FLOATS,
    "the float next to x1 in the direction of x2; x2 where they are equal",
    ("x1", "x2"),
)
mulhi = binary(
    "mulhi",
    "chlo.mulhi",
    INTEGERS,
    "the upper half of the product of two integers, which has twice their bits",
    spelled=upper_half,
)
mulhi.rule("jvp")(no_tangent)


@nextafter.rule("jvp")
def jvp_nextafter(op: Op, x: Any, y: Any) -> Any:
    """A neighbour moves along with ``x`` and does not see where exactly ``y`` is."""
    out = op(x.primal, y.primal)
    if type(x.tangent) is Zero:
        return Dual(out, zero_tangent(typeof(out)))
    return Dual(out, zeros.spread(x.tangent, typeof(out).shape))


__all__ = ["mulhi", "nextafter"]
