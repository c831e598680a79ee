"""Changing what the bits mean: dtype conversion, bit casts, rounding of precision."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from rabbet import dtypes
from rabbet.errors import DTypeError, ShapeError
from rabbet.lowering.dtype_codes import CODES
from rabbet.primitives import batching, checks
from rabbet.primitives.checks import FLOATS
from rabbet.primitives.no_tangent import no_tangent
from rabbet.program.avals import ShapedArray
from rabbet.rules.payloads import Batched, Dual, zero_tangent
from rabbet.rules.primitive import Primitive
from rabbet.trace.interpreter import typeof

if TYPE_CHECKING:
    from rabbet.lowering.operation import Site
    from rabbet.rules.operator import Op
    from rabbet.rules.payloads import Linear
    from rabbet.typing import DType, Value


# ----------------------------------------------------------------------------------- convert_element_type
def convert_aval(x: ShapedArray, new_dtype: DType, weak_type: bool = False) -> ShapedArray:
    for dtype in (x.dtype, new_dtype):
        if isinstance(dtype, dtypes.ExtendedDType) and x.dtype != new_dtype:
            raise DTypeError(
                f"cannot convert {x.str_short()} to {new_dtype}: an extended dtype without encode and decode "
                "converts to no other; random.key_data gives the bits of keys, "
                "rabbet.extend.primitive.to_physical what any stores"
            )
    return ShapedArray(x.shape, new_dtype, weak_type)


convert_element_type = Primitive(
    "convert_element_type", convert_aval, kinds=("elementwise",), doc="x as another dtype",
    parameters={"weak_type": "bool: whether the result's dtype gives way to others"},
)


def to_dtype(x: Value, dtype: Any) -> Value:
    """``x`` converted to ``dtype``, or itself if it has it (weak or not).

    Example:
      >>> from rabbet.extend.rules import to_dtype
      >>> to_dtype(np.arange(3), np.dtype("float32"))
      Array([0., 1., 2.], dtype=float32)
    """
    return x if typeof(x).dtype == dtype else convert_element_type(x, new_dtype=dtype, weak_type=False)


def real_dtype(dtype: DType) -> DType:
    """The dtype of the parts of a complex dtype; ``dtype`` itself if it is real.

    Example:
      >>> from rabbet.extend.rules import real_dtype
      >>> real_dtype(np.dtype("complex64"))
      dtype('float32')
    """
    return np.dtype(f"float{4 * dtype.itemsize}") if dtypes.kind(dtype) == "c" else dtype


@convert_element_type.rule("lower")
def lower_convert(op: Site, x: str) -> str:
    (a,) = op.in_avals
    if a.dtype == op.out.dtype:
        return x
    if a.kind == "c" and op.out.kind != "c":
        part = ShapedArray(a.shape, real_dtype(a.dtype))
        x, a = op.emit(f"stablehlo.real {x} : ({a.mlir}) -> {part.mlir}"), part
    if op.out.kind == "b":
        zero = op.constant(np.zeros((), a.dtype), a)
        direction = "NE"
        return op.emit(f"stablehlo.compare {direction}, {x}, {zero} : ({a.mlir}, {a.mlir}) -> {op.out.mlir}")
    if a.kind == "b" and op.out.kind in "fc" and not op.out.is_symbolic:
        # Of a product with a converted boolean XLA makes a choice between the other factor and 0, also where
        # that is NaN or infinite.
        cases = [op.constant(np.full((), n, op.out.dtype), op.out.update(shape=())) for n in (1, 0)]
        yes, no = [op.broadcast_operand(n, op.out.update(shape=()), op.out.shape) for n in cases]
        return op.emit(f"stablehlo.select {x}, {yes}, {no} : {a.mlir}, {op.out.mlir}")
    return op.emit(f"stablehlo.convert {x} : ({a.mlir}) -> {op.out.mlir}")


@convert_element_type.rule("jvp")
def jvp_convert(op: Op, x: Dual) -> Dual:
    out = op(x.primal)
    if dtypes.kind(typeof(out).dtype) not in "fc":
        return Dual(out, zero_tangent(typeof(out)))
    return Dual(out, convert_element_type(x.tangent, new_dtype=op.params["new_dtype"], weak_type=False))


@convert_element_type.rule("transpose")
def transpose_convert(op: Op, ct: Value, x: Linear) -> tuple[Value, ...]:
    return (convert_element_type(ct, new_dtype=x.aval.dtype, weak_type=False),)


# ----------------------------------------------------------------------------------- bitcast_convert_type
def bitcast_aval(x: ShapedArray, new_dtype: DType) -> ShapedArray:
    if x.dtype != new_dtype and bool in (x.dtype, new_dtype):
        raise DTypeError(
            f"bitcast_convert_type of {x.str_short()} to {dtypes.short_name(new_dtype)}: how booleans are "
            "stored is the platform's affair; convert_element_type and x != 0 convert them"
        )
    if x.dtype != new_dtype and "c" in (dtypes.kind(x.dtype), dtypes.kind(new_dtype)):
        raise DTypeError(
            f"bitcast_convert_type of {x.str_short()} to {dtypes.short_name(new_dtype)}: complex numbers "
            "have two parts; take lax.real and lax.imag, or lax.complex of the two"
        )
    have, want = dtypes.itemsize_bits(x.dtype), dtypes.itemsize_bits(new_dtype)
    if have == want:
        return ShapedArray(x.shape, new_dtype)
    if have > want:
        return ShapedArray((*x.shape, have // want), new_dtype)
    if not x.shape or x.shape[-1] != want // have:
        raise ShapeError(
            f"bitcast_convert_type of {x.str_short()} to {dtypes.short_name(new_dtype)}: "
            f"the last dimension must be {want // have}"
        )
    return ShapedArray(x.shape[:-1], new_dtype)


bitcast_convert_type = Primitive(
    "bitcast_convert_type", bitcast_aval, kinds=("shapeless",), doc="the same bits read as another dtype"
)
bitcast_convert_type.rule("jvp")(no_tangent)


@bitcast_convert_type.rule("lower")
def lower_bitcast(op: Site, x: str) -> str:
    (a,) = op.in_avals
    if a.dtype == op.out.dtype:
        return x
    return op.emit(f"stablehlo.bitcast_convert {x} : ({a.mlir}) -> {op.out.mlir}")


@bitcast_convert_type.rule(CODES)
def bitcast_codes(op: Op, x: Any) -> Any:
    """As the ``lower`` rule says."""
    return x


@bitcast_convert_type.rule("batch")
def batch_bitcast(op: Op, x: Any) -> Any:
    return Batched(op(batching.move_axis(x.value, x.axis, 0)), 0)


# --------------------------------------------------------------------------------------- reduce_precision
def reduce_precision_aval(x: Any, exponent_bits: Any, mantissa_bits: Any) -> Any:
    checks.accept("reduce_precision", FLOATS, x)
    if exponent_bits < 1 or mantissa_bits < 0:
        raise ValueError(
            f"reduce_precision needs at least 1 exponent bit and 0 mantissa bits, got {exponent_bits} and "
            f"{mantissa_bits}"
        )
    return x


reduce_precision = Primitive(
    "reduce_precision",
    reduce_precision_aval,
    kinds=("increasing", "elementwise", "finite_slope"),
    doc="x rounded to fewer bits",
    parameters={
        "exponent_bits": "int: of the format to which values are rounded",
        "mantissa_bits": "int: of that format, without the one that is not stored",
    },
)


@reduce_precision.rule("lower")
def lower_reduce_precision(op: Site, x: Any) -> Any:
    bits = f"e{op['exponent_bits']}m{op['mantissa_bits']}"
    return op.emit(f"stablehlo.reduce_precision {x}, format = {bits} : {op.out.mlir}")


@reduce_precision.rule("jvp")
def jvp_reduce_precision(op: Op, x: Any) -> Any:
    return Dual(op(x.primal), op(x.tangent))


@reduce_precision.rule("transpose")
def transpose_reduce_precision(op: Op, ct: Any, x: Any) -> Any:
    return (op(ct),)


# ------------------------------------------------------------------------------------------ stop_gradient
stop_gradient = Primitive(
    "stop_gradient",
    lambda x: x,
    kinds=("increasing", "elementwise", "finite_slope"),
    doc="x, with derivative zero",
)
stop_gradient.rule("jvp")(no_tangent)


@stop_gradient.rule("lower")
def lower_stop_gradient(op: Site, x: str) -> str:
    return x
