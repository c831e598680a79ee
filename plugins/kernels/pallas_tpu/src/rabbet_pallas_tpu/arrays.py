"""Shapes of vectors, reductions and products in the dialects ``vector`` and ``tpu``."""

import math

import numpy as np
from rabbet import lax
from rabbet.experimental.pallas.targets import Rules, shared_rules
from rabbet.extend.primitive import ShapedArray

RULES = Rules()
# By primitive: what floats, signed and unsigned integers are combined by, and the number that changes
# nothing.
REDUCTIONS = {
    "reduce_sum": (("add",) * 3, 0), "reduce_prod": (("mul",) * 3, 1),
    "reduce_max": (("maximumf", "maxsi", "maxui"), "least"), "reduce_min": (("minimumf", "minsi", "minui"),
    "greatest"),
    "reduce_and": ((None, "and", "and"), -1), "reduce_or": ((None, "or", "or"), 0),
}  # fmt: skip


@RULES.of("reshape", "squeeze", "expand_dims")
def reshape(walker, equation, x):
    aval, out = equation.inputs[0].aval, equation.outputs[0].aval
    if not aval.shape:
        return walker.splat(x, aval, out.shape)
    if not out.shape:
        return extracted(walker, x, aval)
    return walker.cast(x, aval, aval.shape, out.shape)


def extracted(walker, x, aval):
    """The only element of a vector."""
    if aval.ndim == 0:
        return x
    zeros = ", ".join("0" * aval.ndim)
    return walker.emit(f"vector.extract {x}[{zeros}] : {walker.element(aval.dtype)} from {walker.type(aval)}")


@RULES.of("broadcast_in_dim")
def broadcast(walker, equation, x):
    aval, out = equation.inputs[0].aval, equation.outputs[0].aval
    if not aval.shape:
        return walker.splat(x, aval, out.shape)
    middle = [1] * out.ndim
    for d, n in zip(equation.op.params["broadcast_dimensions"], aval.shape, strict=True):
        middle[d] = n
    if str(aval.dtype) == "bool" and tuple(middle) != out.shape:  # masks are spread as integers
        wide = lambda v: lax.ne(lax.broadcast_in_dim(v.astype("int32"), out.shape, dims), 0)
        dims = equation.op.params["broadcast_dimensions"]
        return walker.inline(wide, [aval], [x])[0]
    x = walker.cast(x, aval, aval.shape, middle)
    if tuple(middle) == out.shape:
        return x
    return walker.emit(f"vector.broadcast {x} : {walker.type(aval, middle)} to {walker.type(out)}")


@RULES.of("transpose")
def transpose(walker, equation, x):
    aval, out = equation.inputs[0].aval, equation.outputs[0].aval
    order = ", ".join(map(str, equation.op.params["permutation"]))
    return walker.emit(f"tpu.transpose {x}, [{order}] : {walker.type(aval)} -> {walker.type(out)}")


@RULES.of("iota")
def iota(walker, equation):
    out, d = equation.outputs[0].aval, equation.op.params["dimension"]
    if out.ndim < 2:
        walker.refuse("iota of one dimension", "lax.broadcasted_iota in two dimensions")
    plain = ShapedArray(out.shape, "int32")
    x = walker.emit(f"tpu.iota {{dimensions = array<i32: {d}>}} : {walker.type(plain)}")
    return walker.converted(x, plain, out.dtype)


@RULES.of(*REDUCTIONS)
def reduction(walker, equation, x):
    aval, axes = equation.inputs[0].aval, equation.op.params["axes"]
    if str(aval.dtype) == "bool":
        return of_tests(walker, equation, x)
    names, identity = REDUCTIONS[equation.op.primitive.name]
    kind = names[0 if aval.kind == "f" else 2 if aval.kind == "u" else 1]
    if kind is None:
        walker.refuse(f"{equation.op.primitive.name} of {aval.dtype}", "integers")
    every = len(axes) == aval.ndim
    if every:  # to one number, as a vector with one element
        x, axes = walker.cast(x, aval, aval.shape, (1, *aval.shape)), [d + 1 for d in axes]
        aval = ShapedArray((1, *aval.shape), aval.dtype)
    out = ShapedArray(tuple([n for d, n in enumerate(aval.shape) if d not in axes]), aval.dtype)
    start = walker.constant(neutral(identity, aval), out)
    along = ", ".join(map(str, axes))
    result = walker.emit(
        f"vector.multi_reduction <{kind}>, {x}, {start} [{along}] : {walker.type(aval)} to {walker.type(out)}"
    )
    if not every:
        return result
    ones = (1,) * aval.ndim  # a number is taken out of a vector of the same dimensions
    return extracted(walker, walker.cast(result, out, (1,), ones), ShapedArray(ones, aval.dtype))


def neutral(identity, aval):
    if isinstance(identity, int):
        return identity
    if aval.kind == "f":
        return -math.inf if identity == "least" else math.inf
    limits = np.iinfo(aval.dtype)
    return limits.min if identity == "least" else limits.max


def of_tests(walker, equation, x):
    """Whether all, or some, truth values hold: by numbers."""
    how = lax.reduce_min if equation.op.primitive.name == "reduce_and" else lax.reduce_max
    axes = equation.op.params["axes"]
    parts = lambda v: lax.gt(how(v.astype("int32").astype("float32"), axes=axes), 0.5)
    return walker.inline(parts, [equation.inputs[0].aval], [x])[0]


@RULES.of("argmax", "argmin")
def argument(walker, equation, x):
    """The least place at which the extreme stands, by numbers of float32, exact up to 2**24."""
    (axis,), dtype = equation.op.params["axes"], equation.outputs[0].aval.dtype
    extreme = lax.reduce_max if equation.op.primitive.name == "argmax" else lax.reduce_min

    def parts(v):
        shape, n = v.shape, v.shape[axis]
        spread = lambda m: lax.broadcast_in_dim(m, shape, [d for d in range(len(shape)) if d != axis])
        hit = lax.eq(v, spread(extreme(v, axes=(axis,))))
        hit = lax.bitwise_or(hit, lax.ne(v, v)) if v.dtype.kind == "f" else hit
        places = lax.broadcasted_iota("int32", shape, axis).astype("float32")
        found = lax.select(hit, places, lax.full(shape, float(n), "float32"))
        return lax.reduce_min(found, axes=(axis,)).astype(dtype)

    return walker.inline(parts, [equation.inputs[0].aval], [x])[0]


@RULES.of("concatenate")
def concatenate(walker, equation, *parts):
    out, d = equation.outputs[0].aval, equation.op.params["dimension"]
    types = ", ".join([walker.type(v.aval) for v in equation.inputs])
    return walker.emit(f"tpu.concatenate {', '.join(parts)} in {d} : {types} -> {walker.type(out)}")


@RULES.of("slice")
def slice_of(walker, equation, x):
    aval, out, params = equation.inputs[0].aval, equation.outputs[0].aval, equation.op.params
    steps = params.get("strides") or (1,) * aval.ndim
    lists = [", ".join([f"{n} : i64" for n in v]) for v in (params["start_indices"], out.shape, steps)]
    return walker.emit(
        f'"vector.extract_strided_slice"({x}) <{{offsets = [{lists[0]}], sizes = [{lists[1]}], '
        f"strides = [{lists[2]}]}}> : ({walker.type(aval)}) -> {walker.type(out)}"
    )


@RULES.of("dot_general")
def dot(walker, equation, x, y):
    params, out = equation.op.params, equation.outputs[0].aval
    (contract, batch), one, other = params["dimension_numbers"], *[v.aval for v in equation.inputs]
    if batch[0] or one.ndim != 2 or other.ndim != 2 or len(contract[0]) != 1:
        walker.refuse(
            f"a product of {one.str_short()} and {other.str_short()} that is not a product of matrices",
            "matrices, with one more dimension of the grid in place of a batch",
        )
    (a,), (b,) = contract
    wide = ShapedArray(out.shape, "int32" if out.kind in "iu" else "float32")
    numbers = f"<[{a}], [{b}], [{1 - a}], [{1 - b}], [0, {1 - a}, 1, {1 - b}], [], []>"
    exact = ", precision = #tpu.contract_precision<fp32>" if is_exact(params.get("precision")) else ""
    types = f"{walker.type(one)}, {walker.type(other)}, {walker.type(wide)} -> {walker.type(wide)}"
    said = f"dimension_numbers = #tpu.dot_dimension_numbers{numbers}, transpose_lhs_hint = false{exact}"
    result = walker.emit(f"tpu.matmul {x}, {y}, {walker.constant(0, wide)} {{{said}}} : {types}")
    return walker.converted(result, wide, out.dtype)


def is_exact(precision):
    """Whether a product of float32 is to be as exact as that."""
    precision = precision[0] if isinstance(precision, (list, tuple)) else precision
    word = str(getattr(precision, "value", getattr(precision, "name", precision))).lower()
    return word in ("highest", "high")


@RULES.of("roll")
def roll(walker, equation, x, shift):
    params, out = equation.op.params, equation.outputs[0].aval
    more = ""
    if params.get("stride") is not None:
        more = f", stride = {params['stride']} : si32, stride_dimension = {params['stride_axis']} : si32"
    return walker.emit(
        f"tpu.dynamic_rotate {x} by {shift} dim {params['axis']}"
        f"{f' {{{more[2:]}}}' if more else ''} : {walker.type(out)}, i32 -> {walker.type(out)}"
    )


@RULES.of("tpu_bitcast")
def bits(walker, equation, x):
    aval, out = equation.inputs[0].aval, equation.outputs[0].aval
    if walker.type(aval) == walker.type(out):
        return x
    return walker.emit(f"tpu.bitcast {x} : {walker.type(aval)} -> {walker.type(out)}")


@RULES.of("reciprocal")
def reciprocal(walker, equation, x):
    out = equation.outputs[0].aval
    if not equation.op.params.get("approx", False):
        return walker.inline(lambda v: lax.div(lax.full(v.shape, 1, v.dtype), v), [out], [x])[0]
    return walker.emit(f"tpu.reciprocal {x} {{approx = true}} : {walker.type(out)}")


@RULES.of("ne")
def differs(walker, equation, x, y):
    """Mosaic has no such comparison of floats: the opposite of "equal"."""
    if equation.inputs[0].aval.kind != "f":
        return shared_rules["ne"](walker, equation, x, y)
    return walker.inline(
        lambda a, b: lax.bitwise_not(lax.eq(a, b)), [v.aval for v in equation.inputs], [x, y]
    )


@RULES.of("tanh")
def tanh(walker, equation, x):
    return walker.emit(f"math.tanh {x} : {walker.type(equation.outputs[0].aval)}")


__all__ = ["RULES"]
