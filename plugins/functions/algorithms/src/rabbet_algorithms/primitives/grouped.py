"""Products whose rows come in groups, a matrix each, without multiplying by the matrices of other groups.

Rows are taken in tiles of one group each, in a loop over as many tiles as the groups have: the arithmetic
is that
of one product, but for the last tile of each group, which is not full. Both primitives are each other's
derivatives.
"""

import numpy as np
from rabbet import dtypes, lax
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

SMALLEST, LARGEST = 16, 128  # measured: 8 rows take up to twice as long as 16


def result_type(x, y, preferred):
    return dtypes.promote_types(x.dtype, y.dtype) if preferred is None else preferred


def check(name, starts, ends, groups):
    for bounds in (starts, ends):
        if bounds.shape != (groups,) or bounds.kind not in "iu":
            raise TypeError(f"{name}: bounds {bounds.str_short()} of {groups} groups")


def dot_type(lhs, rhs, starts, ends, *, precision=None, preferred=None):
    if lhs.ndim != 2 or rhs.ndim != 3 or lhs.shape[1] != rhs.shape[1]:
        raise TypeError(f"grouped_dot: {lhs.str_short()} and {rhs.str_short()}")
    check("grouped_dot", starts, ends, rhs.shape[0])
    return ShapedArray((lhs.shape[0], rhs.shape[2]), result_type(lhs, rhs, preferred))


def outer_type(lhs, rhs, starts, ends, *, precision=None, preferred=None):
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


def written_by(loop):
    def lower(op, *names):
        def parts(*operands):
            if not op.out.size or any(not typeof(x).size for x in operands):
                return [lax.full(op.out.shape, 0, op.out.dtype)]
            return [loop(*operands, op.params)]

        return op.write(parts, op.in_avals, names)[0]

    return lower


grouped_dot.rule("lower")(written_by(dot_by_tiles))
grouped_outer.rule("lower")(written_by(outer_by_tiles))


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
    return {n: v for n, v in op.params.items() if n == "precision"}


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
