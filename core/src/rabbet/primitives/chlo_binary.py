"""Elementwise operations of two operands that CHLO has and StableHLO has not: neighbouring floats, the upper
half of a product. XLA expands them itself.
"""

from rabbet.primitives import checks, zeros
from rabbet.primitives.checks import FLOATS, INTEGERS
from rabbet.primitives.no_tangent import no_tangent
from rabbet.rules.payloads import Dual, Zero, zero_tangent
from rabbet.rules.primitive import Primitive
from rabbet.trace.interpreter import typeof


def binary(name, hlo, accepts, doc, operands=("x", "y")):
    """Make a binary elementwise primitive of one CHLO operation, with the names of its operands; its jvp
    rule follows the call.
    """

    def abstract(x, y):
        checks.accept(name, accepts, x, y)
        return checks.elementwise_aval(name, x, y)

    primitive = Primitive(name, abstract, kinds=("elementwise",), operands=operands, doc=doc)

    @primitive.rule("lower")
    def lower_binary(op, x, y):
        a, b = op.in_avals
        out = op.out
        x, y = op.broadcast_operand(x, a, out.shape), op.broadcast_operand(y, b, out.shape)
        return op.emit(f"{hlo} {x}, {y} : {out.mlir}, {out.mlir} -> {out.mlir}")

    return primitive


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
)
mulhi.rule("jvp")(no_tangent)


@nextafter.rule("jvp")
def jvp_nextafter(op, x, y):
    """A neighbour moves along with ``x`` and does not see where exactly ``y`` is."""
    out = op(x.primal, y.primal)
    if type(x.tangent) is Zero:
        return Dual(out, zero_tangent(typeof(out)))
    return Dual(out, zeros.spread(x.tangent, typeof(out).shape))


__all__ = ["mulhi", "nextafter"]
