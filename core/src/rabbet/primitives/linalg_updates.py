"""Products and updates: a A A^T + b C, and the Cholesky factor of A + w w^T."""

import numpy as np

from rabbet.primitives import (
    batching,
    checks,
    elementwise,
    logic,
    loops,
    matrices,
    powers,
    reductions,
    shape,
    zeros,
)  # fmt: skip
from rabbet.primitives.linalg_triangular import triangular_solve
from rabbet.primitives.matrices import INDEX
from rabbet.rules.payloads import Batched, Dual
from rabbet.rules.primitive import Primitive
from rabbet.trace.interpreter import typeof
from rabbet.trace.staging import stage


# -------------------------------------------------------------------------------------- symmetric_product
def symmetric_product_aval(a, c, alpha, beta):
    matrices.matrices("symmetric_product", a)
    checks.same_dtype("symmetric_product", a, c)
    if c.shape != (*a.shape[:-1], a.shape[-2]):
        raise ValueError(
            "symmetric_product takes a of shape (..., m, n) and c of shape (..., m, m), got "
            f"a: {a.str_short()}, c: {c.str_short()}"
        )
    return c.strong()


symmetric_product = Primitive("symmetric_product", symmetric_product_aval, doc="alpha a a^T + beta c")


@symmetric_product.decompose
def product_and_sum(op, a, c):
    total = matrices.product(a, matrices.transposed(a))
    return elementwise.add(scaled(total, op.params["alpha"]), scaled(c, op.params["beta"]))


def scaled(x, factor):
    """``x`` times a number; ``x`` itself for 1, zeros for 0."""
    aval = typeof(x).strong()
    if factor == 1:
        return x
    return elementwise.mul(x, zeros.full(aval, factor)) if factor else zeros.full(aval, 0)


# ---------------------------------------------------------------------------------------- cholesky_update
def cholesky_update_aval(r, w):
    matrices.square_matrices("cholesky_update", r)
    checks.same_dtype("cholesky_update", r, w)
    checks.accept("cholesky_update", checks.FLOATS, r)
    if w.shape != r.shape[:-1]:
        raise ValueError(
            "cholesky_update takes an upper triangular matrix of shape (..., n, n) and a vector of shape "
            f"(..., n), got {r.str_short()} and {w.str_short()}"
        )
    return r.strong()


cholesky_update = Primitive(
    "cholesky_update", cholesky_update_aval,
    doc="the upper Cholesky factor of r^T r + w w^T, in a number of operations that is quadratic",
)  # fmt: skip


@cholesky_update.decompose
def rotations(op, r, w):
    """Each row of ``r`` and what is left of ``w`` are rotated so that the latter gets a zero on the row's
    diagonal (a Givens rotation, G. Golub and C. Van Loan, Matrix Computations, section 6.5.4).
    """
    aval = typeof(r).strong()
    if not aval.size:
        return r
    k = zeros.full(aval.update(shape=(), dtype=INDEX), 0)
    row = aval.update(shape=typeof(w).shape)
    step = stage(one_rotation, [typeof(k), row, row], "cholesky_update").jaxpr
    rows = batching.move_axis(r, aval.ndim - 2, 0)
    _, _, out = loops.scan(
        k, w, rows, jaxpr=step, length=aval.shape[-1], reverse=False, consts=0, carry=2, unroll=1
    )
    return matrices.upper_triangle(batching.move_axis(out, 0, aval.ndim - 2))


def one_rotation(k, w, row):
    """The row and ``w`` after the rotation that makes element ``k`` of ``w`` zero."""
    aval = typeof(w)
    last = aval.ndim - 1
    place = shape.iota(dtype=INDEX, shape=aval.shape, dimension=last)
    here = logic.eq(place, shape.broadcast_in_dim(k, shape=aval.shape, broadcast_dimensions=()))

    def at_k(x):
        return reductions.reduce_sum(logic.select_n(here, zeros.full(aval, 0), x), axes=(last,))

    a, b = at_k(row), at_k(w)
    one = zeros.full(typeof(a), 1)
    # No rotation is needed, and none could be computed, where both are zero.
    nothing = logic.eq(elementwise.max(powers.abs(a), powers.abs(b)), zeros.full(typeof(a), 0))
    a = logic.select_n(nothing, a, one)
    length = hypotenuse(a, b)
    cosine = matrices.beside(elementwise.div(a, length), aval.shape, last)
    sine = matrices.beside(elementwise.div(b, length), aval.shape, last)
    turned = elementwise.add(elementwise.mul(cosine, row), elementwise.mul(sine, w))
    rest = elementwise.sub(elementwise.mul(cosine, w), elementwise.mul(sine, row))
    return [elementwise.add(k, np.int32(1)), rest, turned]


def hypotenuse(a, b):
    """The length of (a, b), computed without overflow; not both may be zero."""
    size = elementwise.max(powers.abs(a), powers.abs(b))
    a, b = elementwise.div(a, size), elementwise.div(b, size)
    squares = elementwise.add(elementwise.mul(a, a), elementwise.mul(b, b))
    return elementwise.mul(size, elementwise.sqrt(squares))


@cholesky_update.rule("batch")
def batch_cholesky_update(op, r, w):
    return Batched(op(*batching.at_front(r, w)), 0)


@cholesky_update.rule("jvp")
def jvp_cholesky_update(op, r, w):
    """With ``s`` the new factor and ``d = d(r^T r + w w^T)``: ``ds = x s``, where ``x`` is the upper triangle
    of ``s^-T d s^-1`` with half the diagonal.
    """
    factor = op(r.primal, w.primal)
    change = matrices.product(
        matrices.transposed(matrices.upper_triangle(r.primal)),
        matrices.upper_triangle(zeros.instantiate(r.tangent)),
    )
    change = elementwise.add(change, outer(w.primal, zeros.instantiate(w.tangent)))
    change = elementwise.add(change, matrices.transposed(change))
    params = {"lower": False, "conjugate_a": False, "unit_diagonal": False}
    change = triangular_solve(factor, change, left_side=True, transpose_a=True, **params)
    change = triangular_solve(factor, change, left_side=False, transpose_a=False, **params)
    half = matrices.on_diagonal(matrices.upper_triangle(change), 0.5)
    return Dual(factor, matrices.product(half, factor))


def outer(x, y):
    """The products of the elements of two vectors, as matrices."""
    n = typeof(x).ndim
    return matrices.product(shape.expand_dims(x, dimensions=(n,)), shape.expand_dims(y, dimensions=(n - 1,)))
