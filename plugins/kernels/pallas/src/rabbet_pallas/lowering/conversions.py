"""Values in other dtypes."""

from rabbet.extend.primitive import ShapedArray

from rabbet_pallas.lowering import mlir_types


def converted(walker, x, aval, dtype):
    """A value in another dtype."""
    old, new = str(aval.dtype), str(dtype)
    out = ShapedArray(aval.shape, dtype)
    if old == new:
        return x
    before, after = mlir_types.bits(old), mlir_types.bits(new)
    if mlir_types.is_float(old) and mlir_types.is_float(new):
        if before == after:  # by way of what holds both
            wide = converted(walker, x, aval, "float32")
            return converted(walker, wide, ShapedArray(aval.shape, "float32"), dtype)
        name = "arith.extf" if before < after else "arith.truncf"
    elif new == "bool":
        zero = walker.constant(0, aval)
        how = "arith.cmpf une" if mlir_types.is_float(old) else "arith.cmpi ne"
        return walker.emit(f"{how}, {x}, {zero} : {walker.type(aval)}")
    elif mlir_types.is_float(old):
        name = "arith.fptoui" if new.startswith("u") else "arith.fptosi"
    elif mlir_types.is_float(new):
        name = "arith.uitofp" if old[0] in "ub" else "arith.sitofp"
    elif before == after:
        return x
    elif before > after:
        name = "arith.trunci"
    else:
        name = "arith.extui" if old[0] in "ub" else "arith.extsi"
    return walker.emit(f"{name} {x} : {walker.type(aval)} to {walker.type(out)}")


__all__ = ["converted"]
