"""Complex numbers and their parts: real, imag, complex, conj."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from rabbet import dtypes
from rabbet.primitives import checks
from rabbet.primitives.basic_reductions import gather_in
from rabbet.primitives.checks import FLOATS, INEXACT
from rabbet.primitives.convert import real_dtype
from rabbet.primitives.elementwise import neg
from rabbet.primitives.zeros import full_of_type
from rabbet.rules.payloads import Dual, Linear
from rabbet.rules.primitive import Primitive
from rabbet.trace.interpreter import typeof

if TYPE_CHECKING:
    from rabbet.lowering.operation import Site
    from rabbet.program.avals import ShapedArray
    from rabbet.rules.operator import Op
    from rabbet.typing import Value


def part(name: str, hlo: str, doc: str) -> Primitive:
    """Make ``real`` or ``imag``."""

    def abstract(x: ShapedArray) -> ShapedArray:
        checks.accept(name, "c", x)
        return x.update(dtype=real_dtype(x.dtype))

    primitive = Primitive(name, abstract, kinds=("linear", "elementwise"), operands=("x",), doc=doc)

    @primitive.rule("lower")
    def lower_part(op: Site, x: str) -> str:
        return op.emit(f"{hlo} {x} : ({op.in_avals[0].mlir}) -> {op.out.mlir}")

    return primitive


real = part("real", "stablehlo.real", "the real part")
imag = part("imag", "stablehlo.imag", "the imaginary part")


def complex_aval(x: ShapedArray, y: ShapedArray) -> ShapedArray:
    checks.accept("complex", FLOATS, x, y)
    out = checks.elementwise_aval("complex", x, y)
    return out.update(dtype=np.dtype(f"complex{16 * out.dtype.itemsize}"))


complex = Primitive(
    "complex", complex_aval, kinds=("linear", "elementwise"), operands=("x", "y"), doc="x + i y"
)


@complex.rule("lower")
def lower_complex(op: Site, x: str, y: str) -> str:
    a, b = op.in_avals
    x, y = op.broadcast_operand(x, a, op.out.shape), op.broadcast_operand(y, b, op.out.shape)
    return op.emit(f"stablehlo.complex {x}, {y} : {op.out.mlir}")


def conj_aval(x: ShapedArray) -> ShapedArray:
    checks.accept("conj", INEXACT, x)
    if x.kind == "c":
        return x
    if dtypes.itemsize_bits(x.dtype) < 32:
        raise TypeError(f"conj takes complex arrays and floats of 32 or 64 bits, got {x.str_short()}")
    return x.update(dtype=np.dtype(f"complex{16 * x.dtype.itemsize}"))


conj = Primitive(
    "conj",
    conj_aval,
    kinds=("linear", "elementwise"),
    operands=("x",),
    doc="the complex conjugate, complex also for real x",
)


@conj.decompose
def conj_by_parts(op: Op, x: Value) -> Value:
    if typeof(x).kind != "c":
        return complex(x, full_of_type(typeof(x), 0))
    return complex(real(x), neg(imag(x)))


# Cotangents of complex values pair without conjugation, <ct, t> = Re(ct * t): so the transpose of "real
# part" is "as a real number", and that of "imaginary part" is multiplication by -i.
@real.rule("transpose")
def transpose_real(op: Op, ct: Value, x: Linear) -> tuple[Value, ...]:
    return (complex(ct, full_of_type(typeof(ct), 0)),)


@imag.rule("transpose")
def transpose_imag(op: Op, ct: Value, x: Linear) -> tuple[Value, ...]:
    return (complex(full_of_type(typeof(ct), 0), neg(ct)),)


@complex.rule("transpose")
def transpose_complex(op: Op, ct: Value, x: Linear, y: Linear) -> tuple[Value, ...]:
    return (
        gather_in(real(ct), x.aval) if type(x) is Linear else None,
        gather_in(neg(imag(ct)), y.aval) if type(y) is Linear else None,
    )


@conj.rule("jvp")
def jvp_conj(op: Op, x: Any) -> Any:
    return Dual(op(x.primal), op(x.tangent))


@conj.rule("transpose")
def transpose_conj(op: Op, ct: Any, x: Any) -> Any:
    return (op(ct) if x.aval.kind == "c" else real(ct),)


__all__ = ["complex", "conj", "imag", "real"]
