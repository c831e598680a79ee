"""Elementwise arithmetic and functions: add, mul, sin, exp, ...

Each primitive stands here with its shape rule, lowering, derivative and transposition; batching comes from
the kind. Operands have one shape, but a scalar may stand beside arrays. Derivatives are from the usual
tables (NIST DLMF chapter 4). Other families are made by the functions here; ``max`` and ``min`` stand in
``extremes.py``.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from rabbet import dtypes
from rabbet.primitives import accuracy as accuracies
from rabbet.primitives import checks, convert, few_bits, zeros
from rabbet.primitives.basic_reductions import gather_in
from rabbet.primitives.checks import FLOATS, INEXACT, NUMBERS
from rabbet.primitives.no_tangent import no_tangent
from rabbet.rules.payloads import Dual, Linear, Zero, zero_tangent
from rabbet.rules.primitive import Primitive
from rabbet.trace.interpreter import typeof

if TYPE_CHECKING:
    from rabbet.lowering.operation import Site
    from rabbet.primitives.accuracy import AccuracyMode
    from rabbet.program.avals import ShapedArray
    from rabbet.rules.operator import Op
    from rabbet.typing import Value

# By name, filled by complex_functions:
of_complex: dict[str, Any] = {}  # how it is written for complex numbers, ``(op, z, own) -> name``
complex_slopes: dict[str, Any] = {}  # its derivative there, ``(z, out) -> d out / d z``
far_slopes: dict[str, Any] = {}  # filled by far_slopes: ``(*operands, out) -> d out / d operand``


def unary(
    name: Any,
    hlo: Any,
    accepts: Any,
    *,
    kinds: Any = (),
    derivative: Any = None,
    own_jvp: Any = False,
    tolerant: Any = False,
    doc: Any = "",
) -> Any:
    """Make a unary elementwise primitive.

    Args:
      name: the primitive's name.
      hlo: the StableHLO (or CHLO) operation; None: the rule for ``lower``, or the parts, follow the call.
      accepts: the dtype kinds it takes, letters of ``checks``.
      kinds: kinds besides elementwise, more specific first.
      derivative: ``(x, out) -> d out / d x``, or None where it is zero or there is none.
      own_jvp: True: the rule for ``jvp`` follows the call.
      tolerant: True: there is a parameter ``accuracy``, an ``AccuracyMode`` or a ``Tolerance``.
    """

    def abstract(x: ShapedArray) -> ShapedArray:
        checks.accept(name, accepts, x)
        return x

    def tolerant_abstract(x: ShapedArray, *, accuracy: AccuracyMode | None = None) -> ShapedArray:
        accuracies.check(name, accuracy)
        return abstract(x)

    rule = tolerant_abstract if tolerant else abstract
    primitive = Primitive(name, rule, kinds=(*kinds, "elementwise"), operands=("x",), doc=doc)

    def lower_unary(op: Any, x: Any) -> Any:
        if op.out.kind == "c" and name in of_complex:
            return of_complex[name](op, x, lambda: plainly(op, x))
        return plainly(op, x)

    def plainly(op: Any, x: Any) -> Any:
        if hlo[0] == "c":
            if dtypes.itemsize_bits(op.out.dtype) < 16:  # CHLO's expansions know no formats of so few bits
                return few_bits.in_wider(op, [x])[0]
            return op.emit(f"{hlo} {x} : {op.out.mlir} -> {op.out.mlir}")
        if name == "logistic" and op.out.dtype == "float16":  # e ** -x is infinite where the value is not 0
            return few_bits.in_wider(op, [x])[0]
        asked = accuracies.attribute(op.params.get("accuracy"))
        x = op.as_a_whole(x, op.out) if name == "log" else x
        out = op.emit(f"{hlo} {x}{asked} : {op.out.mlir}")
        return op.note_compound(out) if name == "rsqrt" else out

    if hlo is not None:
        primitive.rule("lower")(lower_unary)
    if derivative is not None:

        @primitive.rule("jvp")
        def jvp_unary(op: Op, x: Dual) -> Dual:
            out = op(x.primal)
            slope = complex_slopes.get(name, derivative) if typeof(out).kind == "c" else derivative
            return Dual(out, mul(x.tangent, slope(x.primal, out)))

    elif not own_jvp and "linear" not in kinds:
        primitive.rule("jvp")(no_tangent)
    return primitive


class Product(Primitive):
    """``mul``: callers may ask for another dtype, to which the operands are converted first."""

    def _in_their_places(self, args: Any, params: Any) -> Any:
        args, params = super()._in_their_places(args, params)
        dtype = params.pop("out_dtype", None)
        if dtype is not None:
            args = [convert.to_dtype(x, dtypes.canonicalize(dtype)) for x in args]
        return args, params

    @property
    def __signature__(self) -> Any:
        plain = super().__signature__
        asked = inspect.Parameter("out_dtype", inspect.Parameter.KEYWORD_ONLY, default=None)
        return plain.replace(parameters=[*plain.parameters.values(), asked])


def binary(
    name: str,
    hlo: str,
    accepts: str,
    *,
    kinds: tuple[str, ...] = (),
    partials: tuple[Callable[..., Any], ...] | None = None,
    own_jvp: bool = False,
    operands: tuple[str, ...] = ("x", "y"),
    doc: str = "",
    made: type = Primitive,
    complex_pick: Callable[..., Any] | None = None,
) -> Product | Primitive:
    """Make a binary elementwise primitive.

    Args:
      partials: ``(x, y, out) -> d out / d operand`` for both operands, or None: a derivative of zero,
        unless the kinds give one.
      own_jvp: True: the rule for ``jvp`` follows the call.
      operands: their names.
      made: the class of the primitive.
      complex_pick: the function by which complex operands are lowered, where the operation does not take
        them.
    """

    def abstract(x: ShapedArray, y: ShapedArray) -> ShapedArray:
        checks.accept(name, accepts, x, y)
        return checks.elementwise_aval(name, x, y)

    primitive = made(name, abstract, kinds=(*kinds, "elementwise"), operands=operands, doc=doc)

    @primitive.rule("lower")
    def lower_binary(op: Site, x: str, y: str) -> str:
        a, b = op.in_avals
        out = op.out
        if name == "div":
            x, y = op.as_a_whole(x, a), op.as_a_whole(y, b)
        if a.shape != b.shape:
            x, y = op.broadcast_operand(x, a, out.shape), op.broadcast_operand(y, b, out.shape)
        if complex_pick is not None and out.kind == "c":
            return op.write(lambda x, y: [complex_pick(x, y)], [out.strong()] * 2, [x, y])[0]
        if name == "div":
            return op.note_compound(op.emit(f"{hlo} {x}, {y} : {out.mlir}"))
        return op.emit(f"{hlo} {x}, {y} : {out.mlir}")

    if partials is not None:

        @primitive.rule("jvp")
        def jvp_binary(op: Op, x: Dual, y: Dual) -> Dual:
            out = op(x.primal, y.primal)
            tangent = zero_tangent(typeof(out))
            for operand, partial in zip((x, y), partials, strict=True):
                if type(operand.tangent) is not Zero:
                    term = mul(operand.tangent, partial(x.primal, y.primal, out))
                    tangent = add_tangents(tangent, term)
            return Dual(out, zeros.spread(tangent, typeof(out).shape))

    elif not own_jvp and "bilinear" not in kinds and "linear" not in kinds:
        primitive.rule("jvp")(no_tangent)
    return primitive


# -------------------------------------------------------------------------------------- sums and products
add = binary("add", "stablehlo.add", NUMBERS + "b", kinds=("increasing", "linear"), doc="x + y")
sub = binary("sub", "stablehlo.subtract", NUMBERS, kinds=("linear",), doc="x - y")
mul = binary("mul", "stablehlo.multiply", NUMBERS + "b", kinds=("bilinear",), doc="x * y", made=Product)
neg = unary("neg", "stablehlo.negate", NUMBERS, kinds=("decreasing", "linear"), doc="-x")
div = binary("div", "stablehlo.divide", NUMBERS, own_jvp=True, doc="x / y; integers divide towards zero")
rem = binary(
    "rem", "stablehlo.remainder", checks.REALS, own_jvp=True, doc="x - y * trunc(x / y), the sign of x"
)


def add_tangents(a: Zero | Value, b: Zero | Value) -> Value:
    """The sum of two tangents of which either may be a symbolic zero.

    Example:
      >>> from rabbet.extend.primitive import Zero, add_tangents
      >>> add_tangents(Zero(rb.typeof(1.0)), 5.0)
      5.0
      >>> float(add_tangents(2.0, 5.0))
      7.0
    """
    if type(a) is Zero:
        return b
    if type(b) is Zero:
        return a
    return add(a, b)


@add.rule("jvp")
def jvp_add(op: Op, x: Dual, y: Dual) -> Dual:
    out = op(x.primal, y.primal)
    if type(x.tangent) is Zero or type(y.tangent) is Zero:
        return Dual(out, zeros.spread(add_tangents(x.tangent, y.tangent), typeof(out).shape))
    return Dual(out, op(x.tangent, y.tangent))


@sub.rule("jvp")
def jvp_sub(op: Op, x: Dual, y: Dual) -> Dual:
    out = op(x.primal, y.primal)
    if type(x.tangent) is Zero:
        return Dual(out, zeros.spread(neg(y.tangent), typeof(out).shape))
    if type(y.tangent) is Zero:
        return Dual(out, zeros.spread(x.tangent, typeof(out).shape))
    return Dual(out, op(x.tangent, y.tangent))


@neg.rule("jvp")
def jvp_neg(op: Op, x: Dual) -> Dual:
    return Dual(op(x.primal), op(x.tangent))


@div.rule("jvp")
def jvp_div(op: Op, x: Dual, y: Dual) -> Dual:
    out = op(x.primal, y.primal)
    if type(y.tangent) is Zero:
        tangent = op(x.tangent, y.primal)
    elif type(x.tangent) is Zero:
        tangent = neg(op(mul(y.tangent, out), y.primal))
    else:
        tangent = op(sub(x.tangent, mul(y.tangent, out)), y.primal)
    return Dual(out, zeros.spread(tangent, typeof(out).shape))


@rem.rule("jvp")
def jvp_rem(op: Op, x: Any, y: Any) -> Any:
    out = op(x.primal, y.primal)
    tangent = x.tangent
    if type(y.tangent) is not Zero:
        # out = x - y * trunc(x / y), and the truncated quotient is constant almost everywhere.
        quotient = div(sub(x.primal, out), y.primal)
        tangent = add_tangents(tangent, neg(mul(y.tangent, quotient)))
    return Dual(out, zeros.spread(tangent, typeof(out).shape))


@add.rule("transpose")
def transpose_add(op: Op, ct: Value, x: Linear | Value, y: Linear | Value) -> tuple[Value | None, ...]:
    return tuple([gather_in(ct, v.aval) if type(v) is Linear else None for v in (x, y)])


@sub.rule("transpose")
def transpose_sub(op: Op, ct: Value, x: Linear, y: Linear) -> tuple[Value, ...]:
    return (
        gather_in(ct, x.aval) if type(x) is Linear else None,
        gather_in(neg(ct), y.aval) if type(y) is Linear else None,
    )


@neg.rule("transpose")
def transpose_neg(op: Op, ct: Value, x: Linear) -> tuple[Value, ...]:
    return (op(ct),)


@mul.rule("transpose")
def transpose_mul(op: Op, ct: Value, x: Linear | Value, y: Linear | Value) -> tuple[Value | None, ...]:
    if type(x) is Linear:
        return gather_in(op(ct, y), x.aval), None
    return None, gather_in(op(x, ct), y.aval)


@div.rule("transpose")
def transpose_div(op: Any, ct: Any, x: Any, y: Any) -> tuple[Value | None, ...]:
    return gather_in(op(ct, y), x.aval), None


# ----------------------------------------------------------------------------------------------- rounding
floor = unary(
    "floor", "stablehlo.floor", FLOATS, kinds=("increasing", "finite_slope"),
    doc="the largest integer not above x",
)  # fmt: skip
ceil = unary(
    "ceil", "stablehlo.ceil", FLOATS, kinds=("increasing", "finite_slope"),
    doc="the smallest integer not below x",
)  # fmt: skip
round_even = unary(
    "round_even",
    "stablehlo.round_nearest_even",
    FLOATS,
    kinds=("increasing", "finite_slope"),
    doc="to the nearest integer, ties to even",
)
round_away = unary(
    "round_away",
    "stablehlo.round_nearest_afz",
    FLOATS,
    kinds=("increasing",),
    doc="to the nearest integer, ties away from 0",
)

# -------------------------------------------------------------------------------- exponentials and friends
exp = unary(
    "exp",
    "stablehlo.exponential",
    INEXACT,
    kinds=("increasing",),
    tolerant=True,
    derivative=lambda x, out: out,
    doc="e ** x",
)
expm1 = unary(
    "expm1", "stablehlo.exponential_minus_one", INEXACT, kinds=("increasing",),
    tolerant=True, derivative=lambda x, out: exp(x), doc="e ** x - 1, exact near 0",
)  # fmt: skip
log = unary(
    "log",
    "stablehlo.log",
    INEXACT,
    kinds=("increasing",),
    tolerant=True,
    derivative=lambda x, out: div(1.0, x),
    doc="natural logarithm",
)
log1p = unary(
    "log1p", "stablehlo.log_plus_one", INEXACT, kinds=("increasing",),
    tolerant=True, derivative=lambda x, out: div(1.0, add(x, 1.0)), doc="log(1 + x), exact near 0",
)  # fmt: skip
sqrt = unary(
    "sqrt",
    "stablehlo.sqrt",
    INEXACT,
    kinds=("increasing",),
    tolerant=True,
    derivative=lambda x, out: div(0.5, out),
    doc="square root",
)
rsqrt = unary(
    "rsqrt", "stablehlo.rsqrt", INEXACT, kinds=("decreasing",),
    tolerant=True, derivative=lambda x, out: mul(div(out, x), -0.5), doc="1 / sqrt(x)",
)  # fmt: skip
cbrt = unary(
    "cbrt", "stablehlo.cbrt", FLOATS, kinds=("increasing",),
    tolerant=True, derivative=lambda x, out: div(1.0 / 3.0, mul(out, out)), doc="real cube root",
)  # fmt: skip
logistic = unary(
    "logistic", "stablehlo.logistic", INEXACT, kinds=("increasing", "finite_slope"),
    tolerant=True, derivative=lambda x, out: mul(out, sub(1.0, out)), doc="1 / (1 + e ** -x)",
)  # fmt: skip
tanh = unary(
    "tanh", "stablehlo.tanh", INEXACT, kinds=("increasing", "finite_slope"),
    tolerant=True, derivative=lambda x, out: sub(1.0, mul(out, out)), doc="hyperbolic tangent",
)  # fmt: skip

# -------------------------------------------------------------------------------------------- trigonometry
sin = unary(
    "sin",
    "stablehlo.sine",
    INEXACT,
    kinds=("finite_slope",),
    tolerant=True,
    derivative=lambda x, out: cos(x),
    doc="sine of x radians",
)
cos = unary(
    "cos",
    "stablehlo.cosine",
    INEXACT,
    tolerant=True,
    derivative=lambda x, out: neg(sin(x)),
    doc="cosine of x radians",
    kinds=("finite_slope",),
)
tan = unary(
    "tan",
    "stablehlo.tan",
    INEXACT,
    tolerant=True,
    derivative=lambda x, out: add(mul(out, out), 1.0),
    doc="tangent of x radians",
)
asin = unary(
    "asin", "chlo.asin", INEXACT, kinds=("increasing",),
    derivative=lambda x, out: rsqrt(mul(sub(1.0, x), add(x, 1.0))), doc="inverse sine, in radians",
)  # fmt: skip
acos = unary(
    "acos", "chlo.acos", INEXACT, kinds=("decreasing",),
    derivative=lambda x, out: neg(rsqrt(mul(sub(1.0, x), add(x, 1.0)))), doc="inverse cosine, in radians",
)  # fmt: skip
atan = unary(
    "atan", "chlo.atan", INEXACT, kinds=("increasing",),
    derivative=lambda x, out: div(1.0, add(mul(x, x), 1.0)), doc="inverse tangent, in radians",
)  # fmt: skip
sinh = unary(
    "sinh",
    "chlo.sinh",
    INEXACT,
    kinds=("increasing",),
    derivative=lambda x, out: cosh(x),
    doc="hyperbolic sine",
)
cosh = unary("cosh", "chlo.cosh", INEXACT, derivative=lambda x, out: sinh(x), doc="hyperbolic cosine")
asinh = unary(
    "asinh", "chlo.asinh", INEXACT, kinds=("increasing",),
    derivative=lambda x, out: far_slopes["asinh"](x, out), doc="inverse hyperbolic sine",
)  # fmt: skip
acosh = unary(
    "acosh", "chlo.acosh", INEXACT, kinds=("increasing",),
    derivative=lambda x, out: mul(rsqrt(sub(x, 1.0)), rsqrt(add(x, 1.0))), doc="inverse hyperbolic cosine",
)  # fmt: skip
atanh = unary(
    "atanh", "chlo.atanh", INEXACT, kinds=("increasing",),
    derivative=lambda x, out: div(1.0, mul(sub(1.0, x), add(x, 1.0))), doc="inverse hyperbolic tangent",
)  # fmt: skip

atan2 = binary(
    "atan2", "stablehlo.atan2", INEXACT,
    partials=(
        lambda y, x, out: far_slopes["atan2"](y, x, out, 0),
        lambda y, x, out: far_slopes["atan2"](y, x, out, 1),
    ),
    doc="the angle of the point (x, y), in radians; operands y, x",
)  # fmt: skip
