"""Special functions that CHLO has an operation for: the gamma function's family, one Bessel function,
neighbouring floats, the high half of a product.

XLA expands these operations itself, in single precision for the half types. The derivatives are in NIST
DLMF: 5.2 and 5.15 for the gamma family, 25.11.17 for Hurwitz's zeta.
"""

import numpy as np

from rabbet import dtypes
from rabbet.primitives import checks, gamma_parts, zeros
from rabbet.primitives.checks import FLOATS, INTEGERS
from rabbet.primitives.elementwise import add, mul, neg, unary
from rabbet.primitives.numerics import typed
from rabbet.rules.payloads import Dual, Zero, zero_for
from rabbet.rules.primitive import Primitive
from rabbet.rules.tables import refusing
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
    return Dual(out, zeros.spread(tangent, typeof(out).shape))


# ----------------------------------------------------------------------------------------- gamma functions
lgamma = unary(
    "lgamma", "chlo.lgamma", FLOATS, derivative=lambda x, out: digamma(x),
    doc="log |gamma(x)|; infinite at 0, -1, -2, ...",
)  # fmt: skip
simple_lgamma = lgamma.rules.pop("lower")


@lgamma.rule("lower")
def lower_lgamma(op, x):
    """In double precision XLA's version, mended where it loses digits; halves are computed in more of them
    anyway.
    """
    width = dtypes.itemsize_bits(op.out.dtype)
    if width < 32:
        return simple_lgamma(op, x)
    operands = [x] if width == 32 else [x, simple_lgamma(op, x)]
    avals = [op.out.strong()] * len(operands)
    return op.write(lambda *args: [gamma_parts.log_gamma(*args)], avals, operands)[0]


digamma = unary(
    "digamma", "chlo.digamma", FLOATS, derivative=lambda x, out: polygamma(1.0, x),
    doc="the derivative of log gamma; -inf at 0, NaN at -1, -2, ...",
)  # fmt: skip
digamma.rules.pop("lower")


@digamma.rule("lower")
def lower_digamma(op, x):
    """With -inf at 0, where XLA's versions differ."""
    aval = op.out
    scalar = aval.update(shape=())
    nought, pole = (op.broadcast_operand(op.constant(v, scalar), scalar, aval.shape) for v in (0, -np.inf))
    flag = aval.update(dtype=np.dtype(bool), weak_type=False)
    value = op.emit(f"chlo.digamma {x} : {aval.mlir} -> {aval.mlir}")
    at_pole = op.emit(f"stablehlo.compare EQ, {x}, {nought} : ({aval.mlir}, {aval.mlir}) -> {flag.mlir}")
    return op.emit(f"stablehlo.select {at_pole}, {pole}, {value} : {flag.mlir}, {aval.mlir}")


polygamma = binary(
    "polygamma", "chlo.polygamma", FLOATS,
    "the derivative number m of digamma, for whole m and x > 0",
    ("m", "x"),
)  # fmt: skip
zeta = binary(
    "zeta", "chlo.zeta", FLOATS,
    "Hurwitz's zeta function, the sum of (q + k) ** -x over k = 0, 1, ...",
    ("x", "q"),
)  # fmt: skip


@polygamma.rule("jvp")
def jvp_polygamma(op, m, x):
    return by_second(
        op, m, x, lambda m, x: op(add(m, 1.0), x),
        "there is no derivative by the order m; take it as a constant (lax.stop_gradient)",
    )  # fmt: skip


@zeta.rule("jvp")
def jvp_zeta(op, x, q):
    return by_second(
        op, x, q, lambda x, q: mul(neg(x), op(add(x, 1.0), q)),
        "the derivative by the exponent x is not known in closed form and not offered; take it as a "
        "constant (lax.stop_gradient)",
    )  # fmt: skip


# ------------------------------------------------------------------------------- neighbours, high products
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
mulhi.rule("jvp")(zeros.no_tangent)


@nextafter.rule("jvp")
def jvp_nextafter(op, x, y):
    """A neighbour moves along with ``x`` and does not see where exactly ``y`` is."""
    out = op(x.primal, y.primal)
    if type(x.tangent) is Zero:
        return Dual(out, zero_for(typeof(out)))
    return Dual(out, zeros.spread(x.tangent, typeof(out).shape))


__all__ = ["digamma", "lgamma", "mulhi", "nextafter", "polygamma", "zeta"]
