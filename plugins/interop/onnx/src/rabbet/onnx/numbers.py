"""Elementwise operations, conversions, reductions and products."""

import math

import numpy as np

from rabbet.onnx.rules import Unsupported, named

ALIKE = {
    "exp": "Exp", "log": "Log", "sin": "Sin", "cos": "Cos", "tan": "Tan", "tanh": "Tanh", "asin": "Asin",
    "acos": "Acos", "atan": "Atan", "sinh": "Sinh", "cosh": "Cosh", "asinh": "Asinh", "acosh": "Acosh",
    "atanh": "Atanh", "sqrt": "Sqrt", "abs": "Abs", "neg": "Neg", "floor": "Floor",
    "ceil": "Ceil", "round_even": "Round", "logistic": "Sigmoid", "erf": "Erf",
    "stop_gradient": "Identity", "copy": "Identity",
    "add": "Add", "sub": "Sub", "mul": "Mul", "pow": "Pow", "eq": "Equal", "lt": "Less",
    "le": "LessOrEqual", "gt": "Greater", "ge": "GreaterOrEqual",
}  # fmt: skip
LOGIC = {"and": "And", "or": "Or", "xor": "Xor", "not": "Not"}


@named(*ALIKE)
def alike(graph, eqn, *operands):
    if any(np.dtype(x.dtype).kind == "c" for x in operands):
        raise Unsupported("ONNX calculates with real numbers only")
    if eqn.primitive.name == "pow" and len({x.dtype for x in operands}) > 1:
        x, power = operands
        return graph.node("Pow", x.name, graph.cast(power.name, x.dtype))
    return graph.node(ALIKE[eqn.primitive.name], *[x.name for x in operands])


@named("sign")
def sign(graph, eqn, x):
    return with_nans(graph, x, graph.node("Sign", x.name), is_nan(graph, x))


@named("max", "min")
def extreme(graph, eqn, x, y):
    kind = {"max": "Max", "min": "Min"}[eqn.primitive.name]
    if np.dtype(x.dtype) == bool:
        return graph.node("Or" if kind == "Max" else "And", x.name, y.name)
    return graph.node(kind, x.name, y.name)


@named(*LOGIC)
def logic(graph, eqn, *operands):
    kind = LOGIC[eqn.primitive.name]
    if np.dtype(operands[0].dtype) != bool:
        kind = f"Bitwise{kind}"
    return graph.node(kind, *[x.name for x in operands])


@named("ne")
def not_equal(graph, eqn, x, y):
    return graph.node("Not", graph.node("Equal", x.name, y.name))


@named("rem")
def remainder(graph, eqn, x, y):
    if not may_divide(y):
        return graph.node("Mod", x.name, y.name, fmod=1)
    zero, safe = divisor(graph, y)
    return graph.node("Where", zero, x.name, graph.node("Mod", x.name, safe, fmod=1))


@named("div")
def quotient(graph, eqn, x, y):
    if np.dtype(x.dtype).kind == "c":
        raise Unsupported("ONNX calculates with real numbers only")
    if not may_divide(y):
        return graph.node("Div", x.name, y.name)
    zero, safe = divisor(graph, y)
    out = graph.node("Div", x.name, safe)
    if np.dtype(y.dtype).kind == "i":  # the smallest number has no opposite, which stops a processor
        minus = graph.node("Equal", y.name, one(graph, y, -1))
        out = graph.node("Where", minus, graph.node("Neg", x.name), out)
    return graph.node("Where", zero, one(graph, y, np.array(-1).astype(y.dtype)), out)


def may_divide(y):
    """Whether a divisor is of integers that may be 0 or -1, at which runtimes stop."""
    integers = np.dtype(y.dtype).kind in "iu"
    return integers and (y.known is None or bool(((y.known == 0) | (y.known == -1)).any()))


def divisor(graph, y):
    """Where a divisor is 0, and the divisor with 1 in the place of 0 and -1."""
    zero = graph.node("Equal", y.name, one(graph, y, 0))
    bad = zero
    if np.dtype(y.dtype).kind == "i":
        bad = graph.node("Or", zero, graph.node("Equal", y.name, one(graph, y, -1)))
    return zero, graph.node("Where", bad, one(graph, y), y.name)


def one(graph, x, value=1):
    return graph.constant(np.asarray(value, x.dtype))


@named("square")
def square(graph, eqn, x):
    return graph.node("Mul", x.name, x.name)


@named("integer_pow")
def integer_pow(graph, eqn, x):
    if np.dtype(x.dtype).kind in "iu":
        product = x.name
        if not 1 <= eqn.params["y"] <= 64:
            raise Unsupported(f"a power of {eqn.params['y']} of integers")
        for _ in range(eqn.params["y"] - 1):
            product = graph.node("Mul", product, x.name)
        return product
    return graph.node("Pow", x.name, one(graph, x, eqn.params["y"]))


@named("rsqrt")
def rsqrt(graph, eqn, x):
    return graph.node("Reciprocal", graph.node("Sqrt", x.name))


@named("cbrt")
def cbrt(graph, eqn, x):
    root = graph.node("Pow", graph.node("Abs", x.name), one(graph, x, 1 / 3))
    return graph.node("Mul", graph.node("Sign", x.name), root)


@named("exp2")
def exp2(graph, eqn, x):
    return graph.node("Pow", one(graph, x, 2), x.name)


@named("log1p")
def log1p(graph, eqn, x):
    """``log(u) x / (u - 1)`` with ``u = 1 + x``, which is as exact as ``log`` also for small ``x`` (W.
    Kahan)."""
    u = graph.node("Add", x.name, one(graph, x))
    less = graph.node("Sub", u, one(graph, x))
    same = graph.node("Equal", less, one(graph, x, 0))
    large = graph.node("IsInf", graph.cast(u, np.float32))
    safe = graph.node("Where", same, one(graph, x), less)
    log = graph.node("Log", u)
    exact = graph.node("Mul", log, graph.node("Div", x.name, safe))  # the quotient is near 1
    return graph.node("Where", same, x.name, graph.node("Where", large, log, exact))


@named("expm1")
def expm1(graph, eqn, x):
    """``2 tanh(x / 2) / (1 - tanh(x / 2))`` where x is small: there the difference would lose digits."""
    half = graph.node("Tanh", graph.node("Mul", x.name, one(graph, x, 0.5)))
    near = graph.node(
        "Div", graph.node("Mul", half, one(graph, x, 2)), graph.node("Sub", one(graph, x), half)
    )
    far = graph.node("Sub", graph.node("Exp", x.name), one(graph, x))
    small = graph.node("Less", graph.node("Abs", x.name), one(graph, x, 1))
    return graph.node("Where", small, near, far)


@named("is_finite")
def is_finite(graph, eqn, x):
    name = graph.cast(x.name, np.float32) if x.dtype.itemsize < 4 else x.name
    return graph.node("Not", graph.node("Or", graph.node("IsInf", name), graph.node("IsNaN", name)))


@named("clamp")
def clamp(graph, eqn, low, x, high):
    return graph.node("Min", graph.node("Max", x.name, low.name), high.name)


@named("select_n")
def select_n(graph, eqn, which, *cases):
    if len(cases) != 2 or np.dtype(which.dtype) != bool:
        raise Unsupported(f"a choice among {len(cases)} by {which.dtype}; by a boolean it is ONNX's Where")
    return graph.node("Where", which.name, cases[1].name, cases[0].name)


@named("convert_element_type")
def convert(graph, eqn, x):
    dtype = eqn.outputs[0].aval.dtype
    if is_float(x.dtype) and np.dtype(dtype).kind in "iu":
        return saturated(graph, x, np.dtype(dtype))
    return graph.cast(x.name, dtype)


def is_float(dtype):
    """Whether a dtype holds real floats, NumPy's or others that it knows as raw bytes."""
    return np.dtype(dtype).kind in "fV"


def saturated(graph, x, dtype):
    """A float as an integer: cut off, the nearest integer there is for one beyond the range, 0 for NaN, where
    ONNX leaves open what its Cast gives.
    """
    wide = np.dtype(np.float64)  # which has all 32-bit integers
    name = graph.cast(x.name, wide) if np.dtype(x.dtype) != wide else x.name
    zero = graph.constant(np.zeros((), wide))
    name = graph.node("Where", graph.node("IsNaN", name), zero, name)
    limits = np.iinfo(dtype)
    low, high = wide.type(limits.min), wide.type(limits.max)
    if dtype.itemsize < 8:
        clipped = graph.node("Clip", name, graph.constant(low), graph.constant(high))
        return graph.cast(clipped, dtype)
    # The largest integers of 64 bits are no doubles: the last bits are added where the number is beyond them.
    below = np.nextafter(high, low)
    clipped = graph.cast(graph.node("Clip", name, graph.constant(low), graph.constant(below)), dtype)
    beyond = graph.node("GreaterOrEqual", name, graph.constant(high))
    bits = graph.constant(np.int64(limits.max - int(below)))
    mask = graph.node("Where", beyond, bits, graph.constant(np.int64(0)))
    return graph.node("BitwiseOr", clipped, graph.cast(mask, dtype))


def is_nan(graph, x):
    """The name of booleans, where the numbers of a float value are NaN; None of other values."""
    if not is_float(x.dtype):
        return None
    name = graph.cast(x.name, np.float32) if np.dtype(x.dtype).kind == "V" else x.name
    return graph.node("IsNaN", name)


def with_nans(graph, x, name, where):
    """A result that is NaN where the booleans say so; as it is where they are None."""
    if where is None:
        return name
    return graph.node("Where", where, graph.constant(np.asarray(np.nan, x.dtype)), name)


def any_of(graph, booleans, axes):
    """Whether one of some booleans holds along axes, a constant; the axes are dropped."""
    return graph.cast(graph.node("ReduceMax", graph.cast(booleans, np.int32), axes, keepdims=0), bool)


@named("optimization_barrier", "keep_apart")
def unchanged(graph, eqn, *operands):
    return [x.name for x in operands]


# ---------------------------------------------------------------------------------------------- reductions
REDUCTIONS = {
    "reduce_sum": "ReduceSum", "reduce_max": "ReduceMax", "reduce_min": "ReduceMin",
    "reduce_prod": "ReduceProd", "reduce_and": "ReduceMin", "reduce_or": "ReduceMax",
}  # fmt: skip


@named(*REDUCTIONS)
def reduce(graph, eqn, x):
    axes = graph.constant(tuple(eqn.params["axes"]), np.int64)
    if 0 in [x.shape[d] for d in eqn.params["axes"]]:
        return graph.constant(np.full(eqn.outputs[0].aval.shape, of_nothing(eqn), x.dtype))
    logical = np.dtype(x.dtype) == bool
    if not logical and eqn.primitive.name in ("reduce_and", "reduce_or"):
        raise Unsupported("of integers; of booleans it is known")
    if not eqn.params["axes"]:
        return graph.node("Identity", x.name)
    name = graph.cast(x.name, np.int32) if logical else x.name
    name = graph.node(REDUCTIONS[eqn.primitive.name], name, axes, keepdims=0)
    if eqn.primitive.name in ("reduce_max", "reduce_min") and is_float(x.dtype):
        # A runtime's maximum may pass NaNs over.
        name = with_nans(graph, x, name, any_of(graph, is_nan(graph, x), axes))
    return graph.cast(name, bool) if logical else name


def of_nothing(eqn):
    """What a reduction of no elements gives, which runtimes do not know of all."""
    dtype = np.dtype(eqn.outputs[0].aval.dtype)
    name = eqn.primitive.name
    if name in ("reduce_max", "reduce_min") and dtype.kind != "b":
        limits = np.iinfo(dtype) if dtype.kind in "iu" else None
        low, high = (limits.min, limits.max) if limits else (-np.inf, np.inf)
        return low if name == "reduce_max" else high
    return {"reduce_sum": 0, "reduce_prod": 1, "reduce_or": 0, "reduce_max": 0}.get(name, 1)


@named("argmax", "argmin")
def arg_extreme(graph, eqn, x):
    kind = {"argmax": "ArgMax", "argmin": "ArgMin"}[eqn.primitive.name]
    (axis,) = eqn.params["axes"]
    name = graph.cast(x.name, np.int32) if np.dtype(x.dtype) == bool else x.name
    found = graph.node(kind, name, axis=axis, keepdims=0)
    nans = is_nan(graph, x)
    if nans is not None:
        # The first NaN counts as the extreme one.
        first = graph.node("ArgMax", graph.cast(nans, np.int32), axis=axis, keepdims=0)
        found = graph.node("Where", any_of(graph, nans, graph.constant([axis], np.int64)), first, found)
    return graph.cast(found, eqn.outputs[0].aval.dtype)


@named("cumsum")
def cumsum(graph, eqn, x):
    return graph.node(
        "CumSum", x.name, graph.constant(eqn.params["axis"], np.int64), reverse=int(eqn.params["reverse"])
    )


@named("sort")
def sort(graph, eqn, *operands):
    if len(operands) != 1:
        raise Unsupported("of several arrays by the first; ONNX sorts one, and equal keys in any order")
    (x,) = operands
    axis = eqn.params["dimension"]
    count = graph.constant([x.shape[axis]], np.int64)
    nans = is_nan(graph, x)
    if nans is None:
        return graph.node("TopK", x.name, count, outputs=2, axis=axis, largest=0, sorted=1)[0]
    # NaNs come last: infinities in their places are sorted, and as many at the end are NaN again.
    name = graph.node("Where", nans, graph.constant(np.asarray(np.inf, x.dtype)), x.name)
    name = graph.node("TopK", name, count, outputs=2, axis=axis, largest=0, sorted=1)[0]
    axes = graph.constant([axis], np.int64)
    numbers = graph.cast(graph.node("Not", nans), np.int32)
    shape = [x.shape[axis] if d == axis else 1 for d in range(x.ndim)]
    places = graph.constant(np.arange(x.shape[axis], dtype=np.int32).reshape(shape))
    count_of_numbers = graph.node("ReduceSum", numbers, axes, keepdims=1)
    return with_nans(graph, x, name, graph.node("GreaterOrEqual", places, count_of_numbers))


@named("top_k")
def top_k(graph, eqn, x):
    axis = eqn.params.get("axis", -1)
    nans, count = is_nan(graph, x), graph.constant([eqn.params["k"]], np.int64)
    name = x.name
    if nans is not None:  # NaNs are larger than all; beside infinities, in the order of their places
        name = graph.node("Where", nans, graph.constant(np.asarray(np.inf, x.dtype)), name)
    values, indices = graph.node("TopK", name, count, outputs=2, axis=axis, largest=1, sorted=1)
    if nans is not None:
        values = graph.node("GatherElements", x.name, indices, axis=axis)
    return [values, graph.cast(indices, eqn.outputs[1].aval.dtype)]


# ------------------------------------------------------------------------------------------------ products
@named("dot_general")
def dot_general(graph, eqn, x, y):
    """Dimensions are brought into the order batch, free, summed (of y: batch, summed, free), and joined."""
    (x_sum, y_sum), (x_batch, y_batch) = eqn.params["dimension_numbers"]
    out = eqn.outputs[0].aval
    x_free = [d for d in range(x.ndim) if d not in (*x_sum, *x_batch)]
    y_free = [d for d in range(y.ndim) if d not in (*y_sum, *y_batch)]
    names = [v.name if v.dtype == out.dtype else graph.cast(v.name, out.dtype) for v in (x, y)]
    left = graph.transpose(names[0], [*x_batch, *x_free, *x_sum])
    right = graph.transpose(names[1], [*y_batch, *y_sum, *y_free])
    batch = [x.shape[d] for d in x_batch]
    rows, columns = [x.shape[d] for d in x_free], [y.shape[d] for d in y_free]
    summed = math.prod(x.shape[d] for d in x_sum)
    if len(x_free) != 1 or len(x_sum) != 1:
        left = graph.reshape(left, [*batch, math.prod(rows), summed])
    if len(y_free) != 1 or len(y_sum) != 1:
        right = graph.reshape(right, [*batch, summed, math.prod(columns)])
    product = graph.node("MatMul", left, right)
    if len(x_free) == len(y_free) == 1:
        return product
    return graph.reshape(product, [*batch, *rows, *columns])



