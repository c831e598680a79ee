"""Functions that the device's own library computes."""

from rabbet.experimental.pallas.targets import Rules
from rabbet.extend.primitive import ShapedArray
from rabbet.extend.rules import mlir_string

RULES = Rules()
# By primitive: the function's name in libdevice, to which "f" is added for 32 bits.
LIBRARY = {
    "tanh": "tanh", "atan": "atan", "asin": "asin", "acos": "acos", "sinh": "sinh", "cosh": "cosh",
    "asinh": "asinh",
    "acosh": "acosh", "atanh": "atanh", "cbrt": "cbrt", "erf_inv": "erfinv", "log1p": "log1p",
    "expm1": "expm1",
    "pow": "pow", "atan2": "atan2", "tan": "tan", "nextafter": "nextafter",
}  # fmt: skip


@RULES.of(*LIBRARY)
def library(walker, equation, *operands):
    out = equation.outputs[0].aval
    wide = ShapedArray(out.shape, "float64" if str(out.dtype) == "float64" else "float32")
    given = []
    for x, v in zip(operands, equation.inputs, strict=True):
        x = walker.converted(x, v.aval, wide.dtype)
        given.append(walker.spread(x, ShapedArray(v.aval.shape, wide.dtype), out.shape))
    symbol = f"__nv_{LIBRARY[equation.op.primitive.name]}{'f' if str(wide.dtype) == 'float32' else ''}"
    types = ", ".join([walker.type(wide)] * len(given))
    result = walker.emit(
        f'tt.extern_elementwise {", ".join(given)} {{libname = "", libpath = "", pure = true, '
        f'symbol = "{symbol}"}} : '
        f"({types}) -> {walker.type(wide)}"
    )
    return walker.converted(result, wide, out.dtype)


@RULES.of("inline_asm")
def assembly(walker, equation, *operands):
    params = equation.op.params
    outs = [v.aval for v in equation.outputs]
    shape = outs[0].shape
    given = [walker.spread(x, v.aval, shape) for x, v in zip(operands, equation.inputs, strict=True)]
    types = ", ".join([walker.type(v.aval, shape) for v in equation.inputs])
    asm, constraints = [mlir_string(params[n])[1:-1] for n in ("asm", "constraints")]
    base = walker.fresh()
    many = len(outs)
    said = f'constraints = "{constraints}", packed_element = {params["pack"]} : i32, pure = true'
    results = ", ".join([walker.type(o) for o in outs])
    head = f"{base}:{many}" if many > 1 else base
    walker.line(
        f'{head} = tt.elementwise_inline_asm "{asm}" {{{said}}} {", ".join(given)} : {types} -> {results}'
    )
    return [f"{base}#{i}" for i in range(many)] if many > 1 else [base]


__all__ = ["RULES"]
