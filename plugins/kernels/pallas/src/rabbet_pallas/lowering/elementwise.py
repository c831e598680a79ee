"""Elementwise operations in the dialects ``arith`` and ``math``."""

import numpy as np
from rabbet import lax
from rabbet.extend.primitive import ShapedArray

from rabbet_pallas.lowering import mlir_types
from rabbet_pallas.lowering.kernel_function import Rules

RULES = Rules()

# By name: the operation on floats, on signed and on unsigned integers; None where there is none.
BINARY = {
    "add": ("arith.addf", "arith.addi", "arith.addi"),
    "sub": ("arith.subf", "arith.subi", "arith.subi"),
    "mul": ("arith.mulf", "arith.muli", "arith.muli"),
    "div": ("arith.divf", "arith.divsi", "arith.divui"),
    "rem": ("arith.remf", "arith.remsi", "arith.remui"),
    "max": ("arith.maximumf", "arith.maxsi", "arith.maxui"),
    "min": ("arith.minimumf", "arith.minsi", "arith.minui"),
    "and": (None, "arith.andi", "arith.andi"),
    "or": (None, "arith.ori", "arith.ori"),
    "xor": (None, "arith.xori", "arith.xori"),
    "shift_left": (None, "arith.shli", "arith.shli"),
    "shift_right_arithmetic": (None, "arith.shrsi", "arith.shrsi"),
    "shift_right_logical": (None, "arith.shrui", "arith.shrui"),
}
# Of floats; and those of integers.
UNARY = {
    "exp": "math.exp", "exp2": "math.exp2", "log": "math.log", "sqrt": "math.sqrt", "rsqrt": "math.rsqrt",
    "sin": "math.sin", "cos": "math.cos", "floor": "math.floor", "ceil": "math.ceil", "erf": "math.erf",
}  # fmt: skip
COMPARISONS = {
    "lt": ("olt", "slt", "ult"), "le": ("ole", "sle", "ule"), "gt": ("ogt", "sgt", "ugt"),
    "ge": ("oge", "sge", "uge"), "eq": ("oeq", "eq", "eq"), "ne": ("une", "ne", "ne"),
}  # fmt: skip


def of_kind(dtype, names):
    """The name for a dtype among those for floats, signed and unsigned integers."""
    if mlir_types.is_float(dtype):
        return names[0]
    return names[2] if str(dtype).startswith(("u", "b")) else names[1]


def spread(walker, equation, operands, shape):
    """Operands in the shape of the result."""
    return [walker.spread(x, v.aval, shape) for x, v in zip(operands, equation.inputs, strict=True)]


@RULES.of(*BINARY)
def binary(walker, equation, *operands):
    aval, out = equation.inputs[0].aval, equation.outputs[0].aval
    name = equation.op.primitive.name
    written = of_kind(aval.dtype, BINARY[name])
    if str(aval.dtype) == "bool":  # of truth values the greater is "or"
        written = {"max": "arith.ori", "min": "arith.andi", "mul": "arith.andi", "add": "arith.ori"}.get(
            name, written
        )
    if written is None:
        walker.refuse(f"{name} of {aval.str_short()}", "integers")
    xs = spread(walker, equation, operands, out.shape)
    return walker.emit(f"{written} {', '.join(xs)} : {walker.type(out)}")


@RULES.of(*UNARY)
def unary(walker, equation, x):
    return walker.emit(f"{UNARY[equation.op.primitive.name]} {x} : {walker.type(equation.outputs[0].aval)}")


@RULES.of(*COMPARISONS)
def comparison(walker, equation, *operands):
    aval, out = equation.inputs[0].aval, equation.outputs[0].aval
    how = of_kind(aval.dtype, COMPARISONS[equation.op.primitive.name])
    name = "arith.cmpf" if mlir_types.is_float(aval.dtype) else "arith.cmpi"
    xs = spread(walker, equation, operands, out.shape)
    return walker.emit(f"{name} {how}, {', '.join(xs)} : {walker.type(aval, out.shape)}")


@RULES.of("select_n")
def select(walker, equation, which, *cases):
    out, test = equation.outputs[0].aval, equation.inputs[0].aval
    if len(cases) != 2 or str(test.dtype) != "bool":
        walker.refuse(f"a selection among {len(cases)} arrays", "two, by a boolean")
    no, yes = [walker.spread(x, v.aval, out.shape) for x, v in zip(cases, equation.inputs[1:], strict=True)]
    condition = f"{walker.type(test)}, " if test.shape else ""
    return walker.emit(f"arith.select {which}, {yes}, {no} : {condition}{walker.type(out)}")


@RULES.of("neg")
def negative(walker, equation, x):
    out = equation.outputs[0].aval
    if mlir_types.is_float(out.dtype):
        return walker.emit(f"arith.negf {x} : {walker.type(out)}")
    return walker.emit(f"arith.subi {walker.constant(0, out)}, {x} : {walker.type(out)}")


@RULES.of("not")
def opposite(walker, equation, x):
    out = equation.outputs[0].aval
    ones = walker.constant(
        True if str(out.dtype) == "bool" else -1, ShapedArray(out.shape, signed(out.dtype))
    )
    return walker.emit(f"arith.xori {x}, {ones} : {walker.type(out)}")


def signed(dtype):
    """The signed integer of the width of an integer dtype; bool as it is."""
    return str(dtype).lstrip("u") if str(dtype) != "bool" else "bool"


@RULES.of("abs")
def absolute(walker, equation, x):
    out = equation.outputs[0].aval
    if str(out.dtype).startswith("u"):
        return x
    return walker.emit(
        f"{'math.absf' if mlir_types.is_float(out.dtype) else 'math.absi'} {x} : {walker.type(out)}"
    )


@RULES.of("stop_gradient", "optimization_barrier", "keep_apart", "multiple_of", "copy")
def same(walker, equation, *operands):
    return list(operands)


@RULES.of("convert_element_type")
def convert(walker, equation, x):
    return walker.converted(x, equation.inputs[0].aval, equation.outputs[0].aval.dtype)


# What is made of other operations, as functions of arrays.
PARTS = {
    "logistic": lambda op, x: lax.div(one(x), lax.add(one(x), lax.exp(lax.neg(x)))),
    "square": lambda op, x: lax.mul(x, x),
    "clamp": lambda op, low, x, high: lax.min(lax.max(x, wide(low, x)), wide(high, x)),
    "is_finite": lambda op, x: lax.lt(lax.abs(x), lax.full(x.shape, np.inf, x.dtype)),
    "erfc": lambda op, x: lax.sub(one(x), lax.erf(x)),
    "round_even": lambda op, x: to_even(x),
    "round_away": lambda op, x: lax.mul(lax.sign(x), lax.floor(lax.add(lax.abs(x), half(x)))),
    "log1p": lambda op, x: log1p(x),
    "expm1": lambda op, x: expm1(x),
    "pow": lambda op, x, y: power(x, wide(y, x)),
    "tan": lambda op, x: lax.div(lax.sin(x), lax.cos(x)),
    "integer_pow": lambda op, x: multiplied(x, op.params["y"]),
    "sign": lambda op, x: sign(x),
    "reciprocal": lambda op, x: lax.div(one(x), x),
    "approx_tanh": lambda op, x: lax.tanh(x),
}


@RULES.of(*PARTS)
def of_others(walker, equation, *operands):
    parts = PARTS[equation.op.primitive.name]
    return walker.inline(lambda *xs: parts(equation.op, *xs), [v.aval for v in equation.inputs], operands)


def wide(x, like):
    return x if x.shape == like.shape else lax.broadcast_in_dim(x, like.shape, ())


def one(x):
    return lax.full(x.shape, 1, x.dtype)


def half(x):
    return lax.full(x.shape, 0.5, x.dtype)


def multiplied(x, n):
    """``x ** n`` by squares."""
    if n < 0:
        return lax.div(one(x), multiplied(x, -n))
    result, power = None, x
    while n:
        if n & 1:
            result = power if result is None else lax.mul(result, power)
        n >>= 1
        power = lax.mul(power, power) if n else power
    return one(x) if result is None else result


def sign(x):
    zero = lax.full(x.shape, 0, x.dtype)
    if str(x.dtype).startswith("u"):
        return lax.select(lax.ne(x, zero), one(x), zero)
    found = lax.select(lax.lt(x, zero), lax.neg(one(x)), x)  # zeros and NaN are their own sign
    return lax.select(lax.gt(x, zero), one(x), found)


def to_even(x):
    low = lax.floor(x)
    apart = lax.sub(x, low)
    odd = lax.ne(lax.mul(lax.floor(lax.mul(low, half(x))), lax.full(x.shape, 2, x.dtype)), low)
    up = lax.bitwise_or(lax.gt(apart, half(x)), lax.bitwise_and(lax.eq(apart, half(x)), odd))
    return lax.select(up, lax.add(low, one(x)), low)


def log1p(x):
    """As exact as the logarithm for small ``x`` too: what ``1 + x`` is off by cancels."""
    u = lax.add(one(x), x)
    close = lax.eq(u, one(x))
    scaled = lax.div(lax.mul(lax.log(u), x), lax.select(close, one(x), lax.sub(u, one(x))))
    infinite = lax.eq(u, lax.full(x.shape, np.inf, x.dtype))
    return lax.select(close, x, lax.select(infinite, u, scaled))


def expm1(x):
    """As exact as the exponential for small ``x`` too."""
    u = lax.exp(x)
    less = lax.sub(u, one(x))
    plain = lax.bitwise_or(lax.eq(less, lax.neg(one(x))), lax.gt(lax.abs(x), lax.full(x.shape, 1, x.dtype)))
    near = lax.eq(u, one(x))
    safe = lax.select(lax.bitwise_or(plain, near), lax.full(x.shape, 2, x.dtype), u)
    scaled = lax.div(lax.mul(less, x), lax.log(safe))
    return lax.select(near, x, lax.select(plain, less, scaled))


def power(x, y):
    """``x ** y`` for floats, of negative ``x`` for whole ``y``."""
    zero = lax.full(x.shape, 0, x.dtype)
    size = lax.exp(lax.mul(y, lax.log(lax.abs(x))))
    whole = lax.eq(lax.floor(y), y)
    halved = lax.mul(y, half(y))
    odd = lax.bitwise_and(whole, lax.ne(lax.floor(halved), halved))
    nan = lax.full(x.shape, np.nan, x.dtype)
    of_negative = lax.select(whole, lax.select(odd, lax.neg(size), size), nan)
    found = lax.select(lax.lt(x, zero), of_negative, size)
    ones = lax.bitwise_or(lax.eq(y, zero), lax.eq(x, one(x)))
    return lax.select(ones, one(x), found)


@RULES.of("bitcast_convert_type")
def bitcast(walker, equation, x):
    aval, out = equation.inputs[0].aval, equation.outputs[0].aval
    if aval.shape != out.shape:
        walker.refuse(
            f"the bits of {aval.str_short()} seen as {out.str_short()}",
            "bitcast_convert_type to a dtype of the same width",
        )
    if walker.type(aval) == walker.type(out):
        return x
    return walker.emit(f"{walker.bitcast} {x} : {walker.type(aval)} {walker.into} {walker.type(out)}")


__all__ = ["RULES", "of_kind"]
