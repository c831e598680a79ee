"""Making primitives of one CHLO operation, and elementwise derivatives."""

from rabbet import dtypes
from rabbet.extend.primitive import Dual, Primitive, Zero
from rabbet.extend.rules import spread
from rabbet.extend.transform import refusing, typeof
from rabbet.lax import mul

from rabbet_special.numerics import accept_floats, elementwise_type, in_single, typed


def unary(name, hlo, *, derivative=None, doc=""):
    """Make a unary elementwise primitive on floats.

    Args:
      name: the primitive's name.
      hlo: the CHLO operation; None: the rule for ``lower`` follows the call.
      derivative: ``(x, out) -> d out / d x``.
    """

    def abstract(x):
        accept_floats(name, x)
        return x

    primitive = Primitive(name, abstract, kinds=("elementwise",), operands=("x",), doc=doc)

    def lower_unary(op, x):
        if dtypes.itemsize_bits(op.out.dtype) < 16:  # CHLO's expansions know no formats of so few bits
            return op.write(lambda x: [in_single(primitive, op, x)], [op.out.strong()], [x])[0]
        return op.emit(f"{hlo} {x} : {op.out.mlir} -> {op.out.mlir}")

    if hlo is not None:
        primitive.rule("lower")(lower_unary)

    @primitive.rule("jvp")
    def jvp_unary(op, x):
        out = op(x.primal)
        return Dual(out, mul(x.tangent, derivative(x.primal, out)))

    return primitive


def binary(name, hlo, doc, operands):
    """Make a binary elementwise primitive on floats of one CHLO operation, with the names of its operands;
    its jvp rule follows the call. Without an operation, so does the rule for ``lower``.
    """

    def abstract(x, y):
        return elementwise_type(name, x, y)

    primitive = Primitive(name, abstract, kinds=("elementwise",), operands=operands, doc=doc)

    def lower_binary(op, x, y):
        a, b = op.in_avals
        out = op.out
        x, y = op.broadcast_operand(x, a, out.shape), op.broadcast_operand(y, b, out.shape)
        return op.emit(f"{hlo} {x}, {y} : {out.mlir}, {out.mlir} -> {out.mlir}")

    if hlo is not None:
        primitive.rule("lower")(lower_binary)
    return primitive


def by_second(op, first, second, slope, why):
    """The jvp of an operation that has a derivative by its second operand alone.

    Args:
      slope: ``(primals) -> `` the derivative.
      why: what to tell who asks for the other one.
    """
    if type(first.tangent) is not Zero:
        refusing(why)(op)
    out = op(first.primal, second.primal)
    tangent = mul(second.tangent, slope(*typed(op, first.primal, second.primal)))
    return Dual(out, spread(tangent, typeof(out).shape))
