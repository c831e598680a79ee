"""Conversions that libtpu's compiler does not survive."""

from rabbet.extend.transform import lower


def convert_element_type(op, x):
    """To complex128 from anything but complex numbers in two parts, of which the imaginary one is zero."""
    aval, out = op.in_avals[0], op.out
    if out.dtype.name != "complex128" or aval.kind == "c":
        return lower.lookup(op.primitive, "")(op, x)
    double = out.update(dtype="float64", weak_type=False)
    real = op.emit(f"stablehlo.convert {x} : ({aval.mlir}) -> {double.mlir}")
    return op.emit(f"stablehlo.complex {real}, {op.constant(0, double)} : {out.mlir}")
