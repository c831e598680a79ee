"""Products whose rows come in groups, a matrix each, without multiplying by the matrices of other groups.

Rows are taken in tiles of one group each, in a loop over as many tiles as the groups have: the arithmetic
is that of one product, but for the last tile of each group, which is not full. On a TPU the compiler has an
operation of its own, which passes over tiles that a group does not have. Both primitives are each other's
derivatives.

``one_by_one`` says that the first group begins with the first row, and each other one where the one before it
ends. (Measured on a CPU: tiles of half and a quarter of the rows and so on for what is left of a group make
the arithmetic 1.03 of one product's with 64 groups of 16 rows, instead of 1.45, and take 1.0 to 1.3 times as
long.)
"""

import numpy as np
from rabbet import dtypes, lax
from rabbet.extend.cost import Cost
from rabbet.extend.primitive import (
    Batched,
    Dual,
    Linear,
    Primitive,
    ShapedArray,
    Zero,
)
from rabbet.extend.rules import at_front, to_dtype
from rabbet.extend.transform import typeof

OF_TPU = {"float32", "bfloat16"}
SMALLEST, LARGEST = 16, 128  # measured: 8 rows take up to twice as long as 16


def result_type(x, y, preferred):
    return dtypes.promote_types(x.dtype, y.dtype) if preferred is None else preferred


def check(name, starts, ends, groups):
    for bounds in (starts, ends):
        if bounds.shape != (groups,) or bounds.kind not in "iu":
            raise TypeError(f"{name}: bounds {bounds.str_short()} of {groups} groups")


def dot_type(lhs, rhs, starts, ends, *, precision=None, preferred=None, one_by_one=False):
    if lhs.ndim != 2 or rhs.ndim != 3 or lhs.shape[1] != rhs.shape[1]:
        raise TypeError(f"grouped_dot: {lhs.str_short()} and {rhs.str_short()}")
    check("grouped_dot", starts, ends, rhs.shape[0])
    return ShapedArray((lhs.shape[0], rhs.shape[2]), result_type(lhs, rhs, preferred))


def outer_type(lhs, rhs, starts, ends, *, precision=None, preferred=None, one_by_one=False):
    if lhs.ndim != 2 or rhs.ndim != 2 or lhs.shape[0] != rhs.shape[0]:
        raise TypeError(f"grouped_outer: {lhs.str_short()} and {rhs.str_short()}")
    check("grouped_outer", starts, ends, starts.shape[0])
    return ShapedArray((starts.shape[0], lhs.shape[1], rhs.shape[1]), result_type(lhs, rhs, preferred))


grouped_dot = Primitive(
    "grouped_dot",
    dot_type,
    doc="rows from starts[i] to ends[i] of a matrix times matrix i; other rows are zeros",
)
grouped_outer = Primitive(
    "grouped_outer",
    outer_type,
    doc="for each i the rows from starts[i] to ends[i], transposed, times those of another",
)


@grouped_dot.rule("cost")
@grouped_outer.rule("cost")
def grouped_cost(op, lhs, rhs, starts, ends):
    """Each row is multiplied once, whatever the number of groups."""
    (out,) = op.outs((lhs, rhs, starts, ends))
    flops = 2.0 * lhs.shape[0] * lhs.shape[1] * rhs.shape[-1]
    return Cost(flops, float(lhs.nbytes + rhs.nbytes + out.nbytes))


# ------------------------------------------------------------------------------- the loop over tiles
def tile_rows(rows, groups):
    """How many rows a tile has: a power of two, so that about an eighth of a group is left over."""
    wanted = max(rows // (8 * max(groups, 1)), 1)
    size = 1 << (wanted.bit_length() - 1)
    return min(max(size, SMALLEST), LARGEST, rows)


def over_tiles(rows, starts, ends, size, body, init):
    """``body(group, first row, which rows count, carry)`` for each tile of each group."""
    starts, ends = lax.convert_element_type(starts, "int32"), lax.convert_element_type(ends, "int32")
    counts = lax.div(lax.max(ends - starts, 0) + np.int32(size - 1), np.int32(size))
    upto = lax.cumsum(counts, 0)

    def step(i, carry):
        group = lax.reduce_sum(lax.convert_element_type(lax.le(upto, i), "int32"), (0,))
        pick = lambda x: lax.dynamic_index_in_dim(x, group, 0, keepdims=False)
        row = pick(starts) + (i - (pick(upto) - pick(counts))) * size
        first = lax.clamp(0, row, np.int32(rows - size))
        places = first + lax.iota("int32", size)
        counted = lax.bitwise_and(lax.ge(places, row), lax.lt(places, pick(ends)))
        return body(group, first, counted, carry)

    return lax.fori_loop(np.int32(0), upto[-1], step, init)


def rows_at(x, first, size):
    return lax.dynamic_slice(x, (first, np.int32(0)), (size, typeof(x).shape[1]))


def dot_by_tiles(lhs, rhs, starts, ends, params):
    out = dot_type(*map(typeof, (lhs, rhs, starts, ends)), **params)
    (rows, _), groups = typeof(lhs).shape, typeof(rhs).shape[0]
    size = tile_rows(rows, groups)

    def body(group, first, counted, result):
        matrix = lax.dynamic_index_in_dim(rhs, group, 0, keepdims=False)
        new = lax.dot_general(rows_at(lhs, first, size), matrix, (((1,), (0,)), ((), ())), *numbers(params))
        spread = lax.broadcast_in_dim(counted, (size, out.shape[1]), (0,))
        new = lax.select(spread, lax.convert_element_type(new, out.dtype), rows_at(result, first, size))
        return lax.dynamic_update_slice(result, new, (first, np.int32(0)))

    return over_tiles(rows, starts, ends, size, body, lax.full(out.shape, 0, out.dtype))


def outer_by_tiles(lhs, rhs, starts, ends, params):
    out = outer_type(*map(typeof, (lhs, rhs, starts, ends)), **params)
    rows = typeof(lhs).shape[0]
    size = tile_rows(rows, out.shape[0])

    def body(group, first, counted, result):
        x, y = rows_at(lhs, first, size), rows_at(rhs, first, size)
        x, y = [
            lax.select(lax.broadcast_in_dim(counted, v.shape, (0,)), v, lax.full(v.shape, 0, v.dtype))
            for v in (x, y)
        ]
        new = lax.convert_element_type(
            lax.dot_general(x, y, (((0,), (0,)), ((), ())), *numbers(params)), out.dtype
        )
        place = (group, np.int32(0), np.int32(0))
        old = lax.dynamic_slice(result, place, (1, *out.shape[1:]))
        return lax.dynamic_update_slice(result, old + new[None], place)

    return over_tiles(rows, starts, ends, size, body, lax.full(out.shape, 0, out.dtype))


def numbers(params):
    return params.get("precision"), params.get("preferred")


def by_compiler(op, names, numbers):
    """XLA's own operation, which TPUs have; elsewhere it is a product by all groups."""
    lhs, rhs, _, ends = op.in_avals
    given = op.params.get("precision")
    said = ["DEFAULT"] * 2 if given is None else [p.name for p in given]
    precision = ", ".join([f"#chlo<precision {name}>" for name in said])
    sizes_of = lambda starts, ends: [lax.convert_element_type(ends - starts, "int32")]
    (sizes,) = op.write(sizes_of, op.in_avals[2:], names[2:])
    types = f"({lhs.mlir}, {rhs.mlir}, tensor<{ends.shape[0]}xi32>) -> {op.out.mlir}"
    name = op.emit(
        f'"chlo.ragged_dot"({names[0]}, {names[1]}, {sizes}) <{{precision_config = [{precision}], '
        f"ragged_dot_dimension_numbers = #chlo.ragged_dot<{numbers}>}}> : {types}"
    )
    if op.out.ndim == 3:
        return name

    def rows_that_count(result, ends):
        shape = typeof(result).shape
        counted = lax.lt(lax.broadcasted_iota("int32", shape, 0), lax.convert_element_type(ends[-1], "int32"))
        return [lax.select(counted, result, lax.full(shape, 0, typeof(result).dtype))]

    return op.write(rows_that_count, [op.out, ends], [name, names[3]])[0]


def has_operation(op):
    """Whether the compiler has one for it."""
    dtypes_of = {str(a.dtype) for a in (*op.in_avals[:2], op.out)}
    filled = op.out.size and all(a.size for a in op.in_avals)
    said = op.params.get("precision")
    known = dtypes_of <= OF_TPU and (said is None or isinstance(said, tuple))  # no algorithm
    return op.platform == "tpu" and op.params.get("one_by_one") and filled and known


def written_by(loop, dimension_numbers):
    def lower(op, *names):
        if has_operation(op):
            return by_compiler(op, names, dimension_numbers)

        def parts(*operands):
            if not op.out.size or any(not typeof(x).size for x in operands):
                return [lax.full(op.out.shape, 0, op.out.dtype)]
            return [loop(*operands, op.params)]

        return op.write(parts, op.in_avals, names)[0]

    return lower


BY_ROWS = (
    "lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0], "
    "rhs_group_dimensions = [0]"
)
BY_SUMS = (
    "lhs_contracting_dimensions = [0], rhs_contracting_dimensions = [0], lhs_ragged_dimensions = [0], "
    "rhs_group_dimensions = []"
)
grouped_dot.rule("lower")(written_by(dot_by_tiles, BY_ROWS))
grouped_outer.rule("lower")(written_by(outer_by_tiles, BY_SUMS))


# ------------------------------------------------------------------------------- over several devices
def of_own_rows(op, starts, lhs, rhs, first, last):
    """What a device computes of its rows and its groups; ``starts`` says where its rows begin."""
    if type(starts["m"]) is not int:
        first, last = [lax.convert_element_type(x, "int32") - starts["m"] for x in (first, last)]
        first, last = [lax.clamp(0, x, lhs.shape[0]) for x in (first, last)]
    return op.primitive(lhs, rhs, first, last, **{**op.params, "one_by_one": False})


def cut_like(rule, sums):
    """A rule ``partition``; TPUs have an operation that their compiler cuts up."""

    def partition(op, *avals):
        if has_operation(op):
            return None
        return {"rule": rule, "reduction_factors": sums, "part": of_own_rows}

    return partition


grouped_dot.rule("partition")(cut_like("m k, g k n, g, g -> m n", ("k", "g")))
grouped_outer.rule("partition")(cut_like("m k, m n, g, g -> g k n", ("m",)))


# ------------------------------------------------------------------------------- derivatives
@grouped_dot.rule("jvp")
def dot_tangent(op, lhs, rhs, starts, ends):
    return product_rule(op, lhs, rhs, starts, ends)


@grouped_outer.rule("jvp")
def outer_tangent(op, lhs, rhs, starts, ends):
    return product_rule(op, lhs, rhs, starts, ends)


def product_rule(op, lhs, rhs, starts, ends):
    bounds = starts.primal, ends.primal
    parts = []
    if type(lhs.tangent) is not Zero:
        parts.append(op(lhs.tangent, rhs.primal, *bounds))
    if type(rhs.tangent) is not Zero:
        parts.append(op(lhs.primal, rhs.tangent, *bounds))
    out = op(lhs.primal, rhs.primal, *bounds)
    if not parts:
        return Dual(out, Zero(typeof(out)))
    return Dual(out, parts[0] if len(parts) == 1 else lax.add(*parts))


def turned(x):
    return lax.transpose(x, (0, 2, 1))


def more(op):
    """The parameters of a product that a derivative needs; its result is made the operand's dtype."""
    return {n: v for n, v in op.params.items() if n in ("precision", "one_by_one")}


def alike(ct, other):
    """A cotangent and a factor in one dtype."""
    dtype = dtypes.promote_types(typeof(ct).dtype, typeof(other).dtype)
    return to_dtype(ct, dtype), to_dtype(other, dtype)


@grouped_dot.rule("transpose")
def dot_cotangents(op, ct, lhs, rhs, starts, ends):
    if type(lhs) is Linear:
        given, other = alike(ct, rhs)
        return (
            to_dtype(grouped_dot(given, turned(other), starts, ends, **more(op)), lhs.aval.dtype),
            None,
            None,
            None,
        )
    given, other = alike(ct, lhs)
    return None, to_dtype(grouped_outer(other, given, starts, ends, **more(op)), rhs.aval.dtype), None, None


@grouped_outer.rule("transpose")
def outer_cotangents(op, ct, lhs, rhs, starts, ends):
    if type(lhs) is Linear:
        given, other = alike(ct, rhs)
        return (
            to_dtype(grouped_dot(other, turned(given), starts, ends, **more(op)), lhs.aval.dtype),
            None,
            None,
            None,
        )
    given, other = alike(ct, lhs)
    return None, to_dtype(grouped_dot(other, given, starts, ends, **more(op)), rhs.aval.dtype), None, None


# ------------------------------------------------------------------------------- examples at once
def one_after_the_other(op, *operands):
    """A loop over the examples."""
    mapped = [b.axis is not None for b in operands]
    values = [at_front(b)[0] if m else b.value for b, m in zip(operands, mapped, strict=True)]
    along = [v for v, m in zip(values, mapped, strict=True) if m]

    def one(_, parts):
        parts = iter(parts)
        return None, op(*[next(parts) if m else v for v, m in zip(values, mapped, strict=True)])

    return Batched(lax.scan(one, None, tuple(along))[1], 0)


grouped_dot.rule("batch")(one_after_the_other)
grouped_outer.rule("batch")(one_after_the_other)

__all__ = ["grouped_dot", "grouped_outer"]
