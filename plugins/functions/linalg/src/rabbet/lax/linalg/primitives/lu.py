"""LU factors with partial pivoting, and what their pivots mean as a permutation."""

from rabbet import lax
from rabbet.errors import ShapeError
from rabbet.extend.primitive import (
    Batched,
    Dual,
    Primitive,
    ShapedArray,
    accept,
    full_of_type,
    move_axis,
    no_tangent,
    zero_tangent,
)
from rabbet.extend.transform import typeof
from rabbet.lax.linalg import matrices
from rabbet.lax.linalg.matrices import INDEX
from rabbet.lax.linalg.primitives.triangular import triangular_solve


def lu_aval(x):
    matrices.matrices("lu", x)
    *batch, m, n = x.shape
    return (
        x,
        ShapedArray((*batch, min(m, n)), INDEX),
        ShapedArray((*batch, m), INDEX),
    )


lu = Primitive(
    "lu", lu_aval, multiple_results=True,
    doc="both LU factors in one matrix, the row swaps (pivots), and the permutation that they amount to",
)  # fmt: skip


# ----------------------------------------------------------------------------------------------- lowering
@lu.rule("lower")
def lower_lu(op, x):
    return op.write(by_columns, op.in_avals, [x])


def by_columns(x):
    """The factors by operations on whole matrices, one column after the other: for a platform without a
    routine of its own.
    """
    aval = typeof(x).strong()
    *batch, m, n = aval.shape
    k = min(m, n)
    if not k or not aval.size:
        pivots = full_of_type(ShapedArray((*batch, k), INDEX), 0)
    else:
        x, stacked = lax.scan(one_column, x, lax.iota(INDEX, k))
        pivots = move_axis(stacked, 0, len(batch))
    return [x, pivots, lu_pivots_to_permutation(pivots, permutation_size=m)]


def one_column(x, k):
    """One step: bring the largest element of column ``k`` to the diagonal, divide the column below it, and
    subtract its multiples from the columns to its right.
    """
    aval = typeof(x)
    sizes, r = aval.shape, aval.ndim - 2
    zero = full_of_type(aval, 0)
    here = lax.broadcast_in_dim(k, shape=sizes, broadcast_dimensions=())
    row = lax.broadcasted_iota(INDEX, shape=sizes, dimension=r)
    column = lax.broadcasted_iota(INDEX, shape=sizes, dimension=r + 1)

    def picked(where, x, axis):
        return lax.reduce_sum(lax.select_n(where, zero, x), axes=(axis,))

    # Rows above the diagonal are done: they lose against every size.
    size = lax.abs(picked(lax.eq(column, here), x, r + 1))
    done = picked_rows(lax.lt(row, here), r)
    size = lax.select_n(done, size, full_of_type(typeof(size), -1))
    pivot = lax.argmax(size, axis=r, index_dtype=INDEX)
    there = matrices.beside(pivot, sizes, r, r + 1)

    upper, current = picked(lax.eq(row, there), x, r), picked(lax.eq(row, here), x, r)
    upper = matrices.beside(upper, sizes, r)
    x = lax.select_n(lax.eq(row, there), x, matrices.beside(current, sizes, r))
    x = lax.select_n(lax.eq(row, here), x, upper)

    # A zero on the diagonal now means zeros below it: nothing to divide.
    head = matrices.beside(picked(lax.eq(column, here), upper, r + 1), sizes, r + 1)
    head = lax.select_n(lax.eq(head, zero), head, full_of_type(aval, 1))
    factor = matrices.beside(picked(lax.eq(column, here), x, r + 1), sizes, r + 1)
    factor = lax.div(factor, head)
    changed = lax.select_n(lax.gt(column, here), factor, lax.sub(x, lax.mul(factor, upper)))
    free = lax.bitwise_and(lax.gt(row, here), lax.ge(column, here))
    return lax.select_n(free, x, changed), pivot


def picked_rows(where, r):
    """From booleans that are equal along each row, one per row."""
    sizes = typeof(where).shape
    first = lax.slice(where, start_indices=(0,) * len(sizes), limit_indices=(*sizes[:-1], 1))
    return lax.squeeze(first, dimensions=(r + 1,))


# ------------------------------------------------------------------------------------------------- rules
@lu.rule("jvp")
def jvp_lu(op, x):
    """With ``a`` the matrix with its rows in order, from ``da = dl u + l du``: ``inv(l) da inv(u)`` is the
    sum of a strictly lower part, ``inv(l) dl``, and an upper part, ``du inv(u)``. Factors that are not
    square are completed by rows or columns of the identity.
    """
    factors, pivots, permutation = op(x.primal)
    *_, m, n = typeof(factors).shape
    k = min(m, n)
    low = matrices.enlarged(matrices.corner(factors, m, k), m, m)
    high = completed(matrices.corner(factors, k, n), k, n)
    change = matrices.rows_at(x.tangent, permutation)
    change = triangular_solve(low, change, left_side=True, lower=True, transpose_a=False,
                              conjugate_a=False, unit_diagonal=True)  # fmt: skip
    change = triangular_solve(high, change, left_side=False, lower=False, transpose_a=False,
                              conjugate_a=False, unit_diagonal=False)  # fmt: skip
    of_low, of_high = matrices.lower_triangle(change, -1), matrices.upper_triangle(change)
    tangent = lax.add(
        lax.add(of_low, matrices.product(matrices.lower_triangle(low, -1), of_low)),
        matrices.product(of_high, matrices.upper_triangle(high)),
    )
    whole = [Dual(p, zero_tangent(typeof(p))) for p in (pivots, permutation)]
    return [Dual(factors, tangent), *whole]


def completed(x, k, n):
    """``k`` rows of length ``n``, and below them those of the identity."""
    if k == n:
        return x
    wide = matrices.enlarged(x, n, n)
    row = lax.broadcasted_iota(INDEX, shape=typeof(wide).shape, dimension=typeof(wide).ndim - 2)
    ours = lax.lt(row, full_of_type(typeof(row), k))
    return lax.select_n(ours, matrices.identity(typeof(wide).strong()), wide)


@lu.rule("batch")
def batch_lu(op, x):
    return [Batched(out, 0) for out in op(move_axis(x.value, x.axis, 0))]


# ------------------------------------------------------------------------------------------- permutations
def permutation_aval(pivots, permutation_size):
    accept("lu_pivots_to_permutation", "iu", pivots)
    if not pivots.ndim or pivots.shape[-1] > permutation_size:
        raise ShapeError(
            "lu_pivots_to_permutation takes pivots of shape (..., k) with k <= permutation_size, got "
            f"{pivots.str_short()} and permutation_size={permutation_size}"
        )
    return pivots.update(shape=(*pivots.shape[:-1], permutation_size)).strong()


lu_pivots_to_permutation = Primitive(
    "lu_pivots_to_permutation", permutation_aval,
    doc="the permutation that row swaps amount to: i with pivots[i], from the first i to the last",
)  # fmt: skip
lu_pivots_to_permutation.rule("jvp")(no_tangent)


@lu_pivots_to_permutation.decompose
def swaps_in_turn(op, pivots):
    """The identity with two places swapped in each step, for all matrices of a batch at once."""
    aval = typeof(pivots).strong()
    sizes = (*aval.shape[:-1], op.params["permutation_size"])
    place = lax.broadcasted_iota(aval.dtype, shape=sizes, dimension=len(sizes) - 1)
    steps = lax.iota(aval.dtype, aval.shape[-1]), move_axis(pivots, aval.ndim - 1, 0)
    out, _ = lax.scan(one_swap, place, steps)
    return out


def one_swap(order, places):
    """Swap two places."""
    i, pivot = places
    aval = typeof(order)
    last = aval.ndim - 1
    place = lax.broadcasted_iota(aval.dtype, shape=aval.shape, dimension=last)
    first = lax.eq(place, lax.broadcast_in_dim(i, shape=aval.shape, broadcast_dimensions=()))
    second = lax.eq(place, matrices.beside(pivot, aval.shape, last))

    def value(where):
        chosen = lax.select_n(where, full_of_type(aval, 0), order)
        return matrices.beside(lax.reduce_sum(chosen, axes=(last,)), aval.shape, last)

    swapped = lax.select_n(second, order, value(first))
    return lax.select_n(first, swapped, value(second)), None


@lu_pivots_to_permutation.rule("batch")
def batch_permutation(op, pivots):
    return Batched(op(move_axis(pivots.value, pivots.axis, 0)), 0)
