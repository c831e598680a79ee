"""Shapes of arrays, reductions and products in the dialect of Triton."""

from rabbet.experimental.pallas.targets import Rules
from rabbet.extend.primitive import ShapedArray

RULES = Rules()
REDUCTIONS = {
    "reduce_sum": ("arith.addf", "arith.addi", "arith.addi"), "reduce_prod": ("arith.mulf", "arith.muli",
    "arith.muli"),
    "reduce_max": ("arith.maximumf", "arith.maxsi", "arith.maxui"),
    "reduce_min": ("arith.minimumf", "arith.minsi", "arith.minui"),
    "reduce_and": (None, "arith.andi", "arith.andi"), "reduce_or": (None, "arith.ori", "arith.ori"),
    "reduce_xor": (None, "arith.xori", "arith.xori"),
}  # fmt: skip
SCANS = {
    "cumsum": REDUCTIONS["reduce_sum"], "cumprod": REDUCTIONS["reduce_prod"],
    "cummax": REDUCTIONS["reduce_max"], "cummin": REDUCTIONS["reduce_min"],
}  # fmt: skip
PRECISIONS = {"highest": "ieee", "high": "tf32x3"}


def kind_of(aval):
    return 0 if aval.kind == "f" else 2 if str(aval.dtype)[0] in "ub" else 1


@RULES.of("reshape", "squeeze", "expand_dims")
def reshape(walker, equation, x):
    aval, out = equation.inputs[0].aval, equation.outputs[0].aval
    return reshaped(walker, x, aval, out.shape)


def reshaped(walker, x, aval, shape):
    """A value in another shape with as many elements."""
    out = ShapedArray(tuple(shape), aval.dtype)
    if aval.shape == out.shape:
        return x
    if not aval.shape:
        return walker.splat(x, aval, out.shape)
    if not out.shape:
        flat = reshaped(walker, x, aval, (1,))
        return reduced(
            walker, flat, ShapedArray((1,), aval.dtype), 0, ("arith.addf", "arith.addi", "arith.ori")
        )
    if [n for n in out.shape if n != 1] == list(aval.shape):  # dimensions of size 1 are cheaper one by one
        current = list(aval.shape)
        for d, n in enumerate(out.shape):
            if n == 1:
                new = [*current[:d], 1, *current[d:]]
                types = f"{walker.type(aval, current)} -> {walker.type(aval, new)}"
                x = walker.emit(f"tt.expand_dims {x} {{axis = {d} : i32}} : {types}")
                current = new
        return x
    return walker.emit(f"tt.reshape {x} : {walker.type(aval)} -> {walker.type(out)}")


@RULES.of("broadcast_in_dim")
def broadcast(walker, equation, x):
    aval, out = equation.inputs[0].aval, equation.outputs[0].aval
    if not aval.shape:
        return walker.splat(x, aval, out.shape)
    middle = [1] * out.ndim
    for d, n in zip(equation.op.params["broadcast_dimensions"], aval.shape, strict=True):
        middle[d] = n
    x = reshaped(walker, x, aval, middle)
    if tuple(middle) == out.shape:
        return x
    return walker.emit(f"tt.broadcast {x} : {walker.type(aval, middle)} -> {walker.type(out)}")


@RULES.of("transpose")
def transpose(walker, equation, x):
    return transposed(walker, x, equation.inputs[0].aval, equation.op.params["permutation"])


def transposed(walker, x, aval, order):
    if tuple(order) == tuple(range(aval.ndim)):
        return x
    shape = [aval.shape[d] for d in order]
    orders = ", ".join(map(str, order))
    return walker.emit(
        f"tt.trans {x} {{order = array<i32: {orders}>}} : {walker.type(aval)} -> {walker.type(aval, shape)}"
    )


@RULES.of("iota")
def iota(walker, equation):
    out, d = equation.outputs[0].aval, equation.op.params["dimension"]
    n = out.shape[d]
    small = ShapedArray((n,), "int32")
    x = walker.emit(f"tt.make_range {{end = {n} : i32, start = 0 : i32}} : {walker.type(small)}")
    middle = [n if k == d else 1 for k in range(out.ndim)]
    x = reshaped(walker, x, small, middle)
    if tuple(middle) != out.shape:
        x = walker.emit(f"tt.broadcast {x} : {walker.type(small, middle)} -> {walker.type(small, out.shape)}")
    return walker.converted(x, ShapedArray(out.shape, "int32"), out.dtype)


@RULES.of(*REDUCTIONS)
def reduction(walker, equation, x):
    aval, names = equation.inputs[0].aval, REDUCTIONS[equation.op.primitive.name]
    for axis in sorted(equation.op.params["axes"], reverse=True):
        x = reduced(walker, x, aval, axis, names)
        aval = ShapedArray((*aval.shape[:axis], *aval.shape[axis + 1 :]), aval.dtype)
    return x


def reduced(walker, x, aval, axis, names):
    """A reduction along one axis, combined by the operation for its kind."""
    combine, element = names[kind_of(aval)], walker.element(aval.dtype)
    out, p, q, r = [walker.fresh() for _ in range(4)]
    walker.line(f'{out} = "tt.reduce"({x}) <{{axis = {axis} : i32}}> ({{')
    walker.line(f"^bb0({p}: {element}, {q}: {element}):")
    walker.line(f"  {r} = {combine} {p}, {q} : {element}")
    walker.line(f"  tt.reduce.return {r} : {element}")
    shape = (*aval.shape[:axis], *aval.shape[axis + 1 :])
    walker.line(f"}}) : ({walker.type(aval)}) -> {walker.type(aval, shape)}")
    return out


@RULES.of("argmax", "argmin")
def argument(walker, equation, x):
    aval, out = equation.inputs[0].aval, equation.outputs[0].aval
    (axis,) = equation.op.params["axes"]
    index = ShapedArray((aval.shape[axis],), "int32")
    name = walker.emit(f"tt.make_range {{end = {index.size} : i32, start = 0 : i32}} : {walker.type(index)}")
    middle = [index.size if k == axis else 1 for k in range(aval.ndim)]
    name = reshaped(walker, name, index, middle)
    if tuple(middle) != aval.shape:
        name = walker.emit(
            f"tt.broadcast {name} : {walker.type(index, middle)} -> {walker.type(index, aval.shape)}"
        )
    element, shape = walker.element(aval.dtype), (*aval.shape[:axis], *aval.shape[axis + 1 :])
    base, a, i, b, j, *t = [walker.fresh() for _ in range(13)]
    greater = "greater" if equation.op.primitive.name == "argmax" else "less"
    better, equal = comparisons(aval, greater)
    nan = ("arith.cmpf uno", "arith.cmpf ord") if aval.kind == "f" else None
    walker.line(f'{base}:2 = "tt.reduce"({x}, {name}) <{{axis = {axis} : i32}}> ({{')
    walker.line(f"^bb0({a}: {element}, {i}: i32, {b}: {element}, {j}: i32):")
    walker.line(f"  {t[0]} = {better}, {a}, {b} : {element}")
    walker.line(f"  {t[1]} = {equal}, {a}, {b} : {element}")
    walker.line(f"  {t[2]} = arith.cmpi slt, {i}, {j} : i32")
    if nan:  # a NaN is beyond all, and the first of them counts
        walker.line(f"  {t[5]} = {nan[0]}, {a}, {a} : {element}")
        walker.line(f"  {t[6]} = {nan[0]}, {b}, {b} : {element}")
        second = walker.fresh()
        walker.line(f"  {second} = arith.andi {t[5]}, {t[6]} : i1")
        same, only, one = walker.fresh(), walker.fresh(), walker.fresh()
        walker.line(f"  {same} = arith.ori {t[1]}, {second} : i1")
        walker.line(f"  {one} = {nan[1]}, {b}, {b} : {element}")
        walker.line(f"  {only} = arith.andi {t[5]}, {one} : i1")
        first = walker.fresh()
        walker.line(f"  {first} = arith.ori {t[0]}, {only} : i1")
    else:
        same, first = t[1], t[0]
    walker.line(f"  {t[3]} = arith.andi {same}, {t[2]} : i1")
    walker.line(f"  {t[4]} = arith.ori {first}, {t[3]} : i1")
    walker.line(f"  {t[7]} = arith.select {t[4]}, {a}, {b} : {element}")
    last = walker.fresh()
    walker.line(f"  {last} = arith.select {t[4]}, {i}, {j} : i32")
    walker.line(f"  tt.reduce.return {t[7]}, {last} : {element}, i32")
    before = f"({walker.type(aval)}, {walker.type(index, aval.shape)})"
    walker.line(f"}}) : {before} -> ({walker.type(aval, shape)}, {walker.type(index, shape)})")
    return walker.converted(f"{base}#1", ShapedArray(shape, "int32"), out.dtype)


def comparisons(aval, which):
    """What "greater" or "less" and "equal" are for a type."""
    if aval.kind == "f":
        return f"arith.cmpf {'ogt' if which == 'greater' else 'olt'}", "arith.cmpf oeq"
    sign = "u" if kind_of(aval) == 2 else "s"
    return f"arith.cmpi {sign}{'gt' if which == 'greater' else 'lt'}", "arith.cmpi eq"


@RULES.of(*SCANS)
def cumulative(walker, equation, x):
    aval, params = equation.inputs[0].aval, equation.op.params
    combine, element = SCANS[equation.op.primitive.name][kind_of(aval)], walker.element(aval.dtype)
    out, p, q, r = [walker.fresh() for _ in range(4)]
    back = "true" if params["reverse"] else "false"
    walker.line(f'{out} = "tt.scan"({x}) <{{axis = {params["axis"]} : i32, reverse = {back}}}> ({{')
    walker.line(f"^bb0({p}: {element}, {q}: {element}):")
    walker.line(f"  {r} = {combine} {p}, {q} : {element}")
    walker.line(f"  tt.scan.return {r} : {element}")
    walker.line(f"}}) : ({walker.type(aval)}) -> {walker.type(aval)}")
    return out


@RULES.of("concatenate")
def concatenate(walker, equation, *parts):
    avals, d = [v.aval for v in equation.inputs], equation.op.params["dimension"]
    if len({a.shape for a in avals}) != 1 or len(parts) & (len(parts) - 1):
        walker.refuse("concatenate of parts of different sizes, or of three", "2, 4, ... parts of one shape")
    parts = list(parts)
    while len(parts) > 1:  # neighbours become one, until one is left
        aval = avals[0]
        shape = (*aval.shape[:d], 2 * aval.shape[d], *aval.shape[d + 1 :])
        parts = [beside(walker, a, b, aval, d, shape) for a, b in zip(parts[::2], parts[1::2], strict=True)]
        avals = [ShapedArray(shape, aval.dtype)] * len(parts)
    return parts[0]


def beside(walker, a, b, aval, d, shape):
    """Two arrays of one type behind each other along a dimension."""
    pair = ShapedArray((*aval.shape, 2), aval.dtype)
    both = walker.emit(f"tt.join {a}, {b} : {walker.type(aval)} -> {walker.type(pair)}")
    order = [*range(d), aval.ndim, *range(d, aval.ndim)]
    moved = transposed(walker, both, pair, order)
    return reshaped(walker, moved, ShapedArray(tuple([pair.shape[k] for k in order]), aval.dtype), shape)


@RULES.of("dot_general")
def dot(walker, equation, x, y):
    params, out = equation.op.params, equation.outputs[0].aval
    (contract, batch), one, other = (
        params["dimension_numbers"],
        equation.inputs[0].aval,
        equation.inputs[1].aval,
    )
    if len(contract[0]) != 1 or one.ndim - len(batch[0]) != 2 or other.ndim - len(batch[1]) != 2:
        walker.refuse(
            f"a product of {one.str_short()} and {other.str_short()} that is not a product of matrices",
            "matrices, or multiplication and a sum",
        )
    if len(batch[0]) > 1:
        walker.refuse(
            "a product of matrices in several batch dimensions", "one batch dimension, by a reshape"
        )
    x, one = in_order(walker, x, one, batch[0], contract[0][0], last=True)
    y, other = in_order(walker, y, other, batch[1], contract[1][0], last=False)
    if min(*one.shape[-2:], other.shape[-1]) < 16:
        walker.refuse(
            f"a product of {one.shape} and {other.shape}, which is less than 16 in a dimension",
            "blocks of at least 16, or multiplication and a sum",
        )
    wide = "int32" if out.kind in "iu" else "float64" if str(one.dtype) == "float64" else "float32"
    total = ShapedArray((*one.shape[:-1], other.shape[-1]), wide)
    if str(one.dtype) != str(other.dtype):
        walker.refuse(f"a product of {one.dtype} and {other.dtype}", "convert one of them")
    precision = params.get("precision")
    how = PRECISIONS.get(word(precision), "tf32")
    text = f", inputPrecision = {how}" if str(one.dtype) == "float32" else ""
    result = walker.emit(
        f"tt.dot {x}, {y}, {walker.constant(0, total)}{text} : "
        f"{walker.type(one)} * {walker.type(other)} -> {walker.type(total)}"
    )
    return walker.converted(result, total, out.dtype)


def word(precision):
    """What a precision asks for, as a word."""
    if isinstance(precision, (list, tuple)):
        precision = precision[0]
    return str(getattr(precision, "value", getattr(precision, "name", precision))).lower()


def in_order(walker, x, aval, batch, contracted, last):
    """A factor as batch, rows, columns with the contracted dimension last or first."""
    free = next(d for d in range(aval.ndim) if d not in (*batch, contracted))
    order = [*batch, *([free, contracted] if last else [contracted, free])]
    return transposed(walker, x, aval, order), ShapedArray(tuple([aval.shape[d] for d in order]), aval.dtype)


@RULES.of("slice")
def part(walker, equation, x):
    """Halves, quarters and so on of a dimension, by splitting it."""
    aval, out, params = equation.inputs[0].aval, equation.outputs[0].aval, equation.op.params
    starts, steps = params["start_indices"], params.get("strides") or (1,) * aval.ndim
    for d in range(aval.ndim):
        n, m = aval.shape[d], out.shape[d]
        if steps[d] != 1 or starts[d] % m or n & (n - 1) or m & (m - 1):
            walker.refuse("a part of a value", "read the part from the reference: ref[pl.ds(start, size)]")
        start = starts[d]
        while n > m:
            x, aval = half(walker, x, aval, d, start >= n // 2)
            start, n = start % (n // 2), n // 2
    return x


def half(walker, x, aval, d, second):
    """One of the halves of an array along a dimension."""
    n = aval.shape[d]
    wide = ShapedArray((*aval.shape[:d], 2, n // 2, *aval.shape[d + 1 :]), aval.dtype)
    order = [*range(d), *range(d + 1, wide.ndim), d]
    x = transposed(walker, reshaped(walker, x, aval, wide.shape), wide, order)
    pair = ShapedArray(tuple([wide.shape[k] for k in order]), aval.dtype)
    out = ShapedArray(pair.shape[:-1], aval.dtype)
    first, other = walker.fresh(), walker.fresh()
    walker.line(f"{first}, {other} = tt.split {x} : {walker.type(pair)} -> {walker.type(out)}")
    return other if second else first, out


def is_power(n):
    return n > 0 and not n & (n - 1)


__all__ = ["RULES", "is_power"]
