"""Powers, the error function, modulus and sign."""

from __future__ import annotations

import builtins
import math
from typing import TYPE_CHECKING

from rabbet.primitives import checks, complex_parts, convert, logic, zeros
from rabbet.primitives.checks import FLOATS, INEXACT, NUMBERS
from rabbet.primitives.elementwise import (
    add,
    add_tangents,
    cos,
    div,
    exp,
    log,
    mul,
    neg,
    sin,
    sub,
    unary,
)
from rabbet.rules.payloads import Dual, Zero, zero_tangent
from rabbet.rules.primitive import Primitive
from rabbet.trace.interpreter import typeof

if TYPE_CHECKING:
    from rabbet.lowering.operation import Site
    from rabbet.program.avals import ShapedArray
    from rabbet.rules.operator import Op
    from rabbet.rules.payloads import Batched
    from rabbet.typing import Value


def integer_pow_aval(x: ShapedArray, y: int) -> ShapedArray:
    checks.accept("integer_pow", NUMBERS, x)
    if y < 0 and x.kind in "iu":
        raise TypeError(
            f"integers cannot be raised to the negative power {y}; convert {x.str_short()} to a float dtype"
        )
    return x


integer_pow = Primitive(
    "integer_pow", integer_pow_aval, kinds=("elementwise",), doc="x ** y for a static int y",
    parameters={"y": "int: the exponent"},
)


@integer_pow.decompose
def integer_pow_by_squaring(op: Op, x: Value) -> Value:
    """Repeated squaring, about ``2 log2(y)`` products."""
    y = op.params["y"]
    if y == 0:
        return zeros.full_of_type(typeof(x), 1)
    result, square, n = None, x, builtins.abs(y)
    while n:
        if n & 1:
            result = square if result is None else mul(result, square)
        n >>= 1
        if n:
            square = mul(square, square)
    return div(1.0, result) if y < 0 else result


@integer_pow.rule("jvp")
def jvp_integer_pow(op: Op, x: Dual) -> Dual:
    y = op.params["y"]
    if y == 0:
        out = op(x.primal)
        return Dual(out, zero_tangent(typeof(out)))
    slope = x.primal if y == 2 else integer_pow(x.primal, y=y - 1)
    return Dual(
        op(x.primal),
        mul(x.tangent, mul(slope, y) if y != 1 else zeros.full_of_type(typeof(x.primal).strong(), 1)),
    )


@integer_pow.rule("batch")
def batch_integer_pow(op: Op, x: Batched) -> Batched:
    return type(x)(op(x.value), x.axis)


def pow_aval(x: ShapedArray, y: ShapedArray) -> ShapedArray:
    checks.accept("pow", INEXACT, x)
    checks.accept("pow", NUMBERS, y)
    if y.kind in "iu" and x.dtype != y.dtype:
        return checks.elementwise_aval("pow", x, y.update(dtype=x.dtype))
    return checks.elementwise_aval("pow", x, y)


pow = Primitive("pow", pow_aval, kinds=("elementwise",), operands=("x", "y"), doc="x ** y")


@pow.rule("lower")
def lower_pow(op: Site, x: str, y: str) -> str:
    a, b = op.in_avals
    x, y = op.broadcast_operand(x, a, op.out.shape), op.broadcast_operand(y, b, op.out.shape)
    if b.dtype != a.dtype:
        y = op.emit(f"stablehlo.convert {y} : ({b.update(shape=op.out.shape).mlir}) -> {op.out.mlir}")
    return op.note_compound(op.emit(f"stablehlo.power {x}, {y} : {op.out.mlir}"))


@pow.rule("jvp")
def jvp_pow(op: Op, x: Dual, y: Dual) -> Dual:
    out = op(x.primal, y.primal)
    shape = typeof(out).shape
    tangent = zero_tangent(typeof(out))
    exponent = convert.to_dtype(y.primal, typeof(out).dtype)
    if type(x.tangent) is not Zero:
        # y * x ** (y - 1), with 0 where both are 0.
        exponent, base = zeros.spread(exponent, shape), zeros.spread(x.primal, shape)
        both_zero = logic.bitwise_and(logic.eq(exponent, 0.0), logic.eq(base, 0.0))
        safe = logic.select_n(both_zero, exponent, zeros.full_of_type(typeof(exponent).strong(), 1))
        slope = mul(exponent, pow(x.primal, sub(safe, 1.0)))
        tangent = zeros.spread(mul(x.tangent, slope), shape)
    if type(y.tangent) is not Zero:
        # x ** y * log(x), with 0 where x == 0 and y > 0. The base may be a Python integer.
        base = convert.to_dtype(x.primal, typeof(out).dtype)
        is_zero = logic.eq(base, 0.0)
        safe = logic.select_n(is_zero, base, zeros.full_of_type(typeof(base).strong(), 1))
        tangent = add_tangents(tangent, zeros.spread(mul(y.tangent, mul(out, log(safe))), shape))
    return Dual(out, tangent)


square = unary(
    "square", None, NUMBERS, kinds=("finite_slope",), derivative=lambda x, out: mul(x, 2.0), doc="x * x"
)


@square.decompose
def square_as_product(op: Op, x: Value) -> Value:
    if typeof(x).kind != "c":
        return mul(x, x)
    a, b = complex_parts.real(x), complex_parts.imag(x)  # exactly real or imaginary where the parts are alike
    return complex_parts.complex(mul(sub(a, b), add(a, b)), mul(mul(a, b), 2.0))


TWO_OVER_SQRT_PI = 2.0 / math.sqrt(math.pi)

erf = unary(
    "erf", "chlo.erf", FLOATS, kinds=("increasing", "finite_slope"),
    derivative=lambda x, out: mul(exp(neg(mul(x, x))), TWO_OVER_SQRT_PI),
    doc="the error function (DLMF 7.2.1)",
)  # fmt: skip
erfc = unary(
    "erfc", "chlo.erfc", FLOATS, kinds=("decreasing", "finite_slope"), tolerant=True,
    derivative=lambda x, out: mul(exp(neg(mul(x, x))), -TWO_OVER_SQRT_PI),
    doc="1 - erf(x), exact for large x",
)  # fmt: skip
erf_inv = unary(
    "erf_inv", "chlo.erf_inv", FLOATS, kinds=("increasing",),
    derivative=lambda x, out: mul(exp(mul(out, out)), 1.0 / TWO_OVER_SQRT_PI), doc="the inverse of erf",
)  # fmt: skip


def abs_aval(x: ShapedArray) -> ShapedArray:
    checks.accept("abs", NUMBERS, x)
    return x.update(dtype=f"float{4 * x.dtype.itemsize}") if x.kind == "c" else x


abs = Primitive(
    "abs", abs_aval, kinds=("elementwise", "finite_slope"), operands=("x",),
    doc="the modulus of x; real for complex x",
)  # fmt: skip


@abs.rule("lower")
def lower_abs(op: Site, x: str) -> str:
    (a,) = op.in_avals
    if a.kind == "u":
        return x
    out = op.emit(f"stablehlo.abs {x} : ({a.mlir}) -> {op.out.mlir}")
    return infinite_where_a_part_is(op, a, x, out) if a.kind == "c" else out


def infinite_where_a_part_is(op: Site, a: ShapedArray, z: str, size: str) -> str:
    """``size``, and infinity for an infinite ``z``: beside a NaN the compiler's own size is NaN."""
    real, flag = op.out.mlir, op.out.update(dtype="bool").mlir
    scalar = op.out.update(shape=())
    infinity = op.broadcast_operand(op.constant(math.inf, scalar), scalar, op.out.shape)
    found = []
    for part in ("real", "imag"):
        x = op.emit(f"stablehlo.{part} {z} : ({a.mlir}) -> {real}")
        x = op.emit(f"stablehlo.abs {x} : {real}")
        found.append(op.emit(f"stablehlo.compare EQ, {x}, {infinity} : ({real}, {real}) -> {flag}"))
    either = op.emit(f"stablehlo.or {found[0]}, {found[1]} : {flag}")
    return op.emit(f"stablehlo.select {either}, {infinity}, {size} : ({flag}, {real}, {real}) -> {real}")


@abs.rule("jvp")
def jvp_abs(op: Op, x: Dual) -> Dual:
    out = op(x.primal)
    if typeof(x.primal).kind != "c":
        # The slope at 0 is 1, as in JAX.
        return Dual(out, logic.select_n(logic.ge(x.primal, 0), neg(x.tangent), x.tangent))
    direction = sign(x.primal)
    return Dual(out, complex_parts.real(mul(x.tangent, complex_parts.conj(direction))))


sign = unary(
    "sign", None, NUMBERS, kinds=("increasing", "finite_slope"), own_jvp=True,
    doc="-1, 0 or 1; x / |x| for complex x",
)  # fmt: skip


@sign.rule("lower")
def lower_sign(op: Site, x: str) -> str:
    (a,) = op.in_avals
    if a.kind == "u":
        one = op.broadcast_operand(op.constant(1, a.update(shape=())), a.update(shape=()), a.shape)
        return op.emit(f"stablehlo.minimum {x}, {one} : {a.mlir}")
    found = op.emit(f"stablehlo.sign {x} : {a.mlir}")
    if a.kind != "c":
        return found
    strong = a.strong()
    return op.write(lambda z, found: [endless_sign(z, found)], [strong, strong], [x, found])[0]


def endless_sign(z: Value, found: Value) -> Value:
    """The sign of ``z``: where one part alone is infinite, it is the direction (as in NumPy)."""
    parts = [complex_parts.real(z), complex_parts.imag(z)]
    endless = [logic.eq(abs(x), math.inf) for x in parts]
    nothing = zeros.full_of_type(typeof(parts[0]).strong(), 0)
    ends = [logic.select_n(e, nothing, sign(x)) for e, x in zip(endless, parts, strict=True)]
    return logic.select_n(logic.ne(*endless), found, complex_parts.complex(*ends))


@sign.rule("jvp")
def jvp_sign(op: Op, x: Dual) -> Dual:
    """Zero for real ``x`` and at 0; for complex ``x`` the part of the tangent across its direction, over
    ``|x|``.
    """
    out = op(x.primal)
    aval = typeof(out)
    if aval.kind != "c":
        return Dual(out, zero_tangent(aval))
    size = abs(x.primal)
    nowhere = logic.eq(size, 0.0)
    size = logic.select_n(nowhere, size, zeros.full_of_type(typeof(size).strong(), 1))
    along = complex_parts.real(mul(complex_parts.conj(out), x.tangent))
    across = sub(x.tangent, mul(out, convert.to_dtype(along, aval.dtype)))
    across = logic.select_n(nowhere, across, zeros.full_of_type(aval.strong(), 0))
    return Dual(out, div(across, convert.to_dtype(size, aval.dtype)))


exp2 = unary(
    "exp2",
    None,
    INEXACT,
    kinds=("increasing",),
    derivative=lambda x, out: mul(out, math.log(2.0)),
    tolerant=True,
    doc="2 ** x",
)


@exp2.decompose
def exp2_by_exp(op: Op, x: Value) -> Value:
    if typeof(x).kind != "c":
        if op.params.get("accuracy") is not None:
            return exp(mul(x, math.log(2.0)), **op.params)
        # A power: the product with log 2 would be rounded, which counts where it is large.
        return pow(zeros.full_of_type(typeof(x).strong(), 2), x)
    a, b = complex_parts.real(x), complex_parts.imag(x)
    half, angle = op(mul(a, 0.5)), mul(b, math.log(2.0))  # by halves: 2 ** a may be infinite
    real, imag = [mul(mul(f(angle, **op.params), half), half) for f in (cos, sin)]
    # Of infinite parts the size is known where the angle is not (C99, annex G).
    gone = logic.bitwise_and(logic.eq(a, -math.inf), logic.ne(sub(b, b), 0.0))
    endless = logic.bitwise_and(logic.eq(a, math.inf), logic.ne(sub(b, b), 0.0))
    nothing = zeros.full_of_type(typeof(a).strong(), 0)
    real = logic.select_n(endless, logic.select_n(gone, real, nothing), a)
    imag = logic.select_n(gone, imag, nothing)
    return complex_parts.complex(real, logic.select_n(logic.eq(b, 0.0), imag, b))


__all__ = ["abs", "erf", "erf_inv", "erfc", "exp2", "integer_pow", "pow", "sign", "square"]
