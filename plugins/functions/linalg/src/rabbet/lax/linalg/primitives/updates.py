"""Products and updates: a A A^T + b C, and the Cholesky factor of A + w w^T."""

from rabbet import lax
from rabbet.errors import ShapeError
from rabbet.extend.primitive import Batched, Dual, Primitive, accept, full_of_type, instantiate, move_axis
from rabbet.extend.rules import at_front, same_dtype
from rabbet.extend.transform import typeof
from rabbet.lax.linalg import matrices
from rabbet.lax.linalg.matrices import INDEX
from rabbet.lax.linalg.primitives.triangular import triangular_solve


# -------------------------------------------------------------------------------------- symmetric_product
def symmetric_product_aval(a, c, alpha, beta):
    matrices.matrices("symmetric_product", a)
    same_dtype("symmetric_product", a, c)
    if c.shape != (*a.shape[:-1], a.shape[-2]):
        raise ShapeError(
            "symmetric_product takes a of shape (..., m, n) and c of shape (..., m, m), got "
            f"a: {a.str_short()}, c: {c.str_short()}"
        )
    return c.strong()


symmetric_product = Primitive(
    "symmetric_product", symmetric_product_aval, kinds=("shapeless",), doc="alpha a a^T + beta c"
)


@symmetric_product.decompose
def product_and_sum(op, a, c):
    total = matrices.product(a, matrices.transposed(a))
    return lax.add(scaled(total, op.params["alpha"]), scaled(c, op.params["beta"]))


def scaled(x, factor):
    """``x`` times a number; ``x`` itself for 1, zeros for 0."""
    aval = typeof(x).strong()
    if factor == 1:
        return x
    return lax.mul(x, full_of_type(aval, factor)) if factor else full_of_type(aval, 0)


# ---------------------------------------------------------------------------------------- cholesky_update
def cholesky_update_aval(r, w):
    matrices.square_matrices("cholesky_update", r)
    same_dtype("cholesky_update", r, w)
    accept("cholesky_update", "f", r)
    if w.shape != r.shape[:-1]:
        raise ShapeError(
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
    rows = lax.iota(INDEX, aval.shape[-1]), move_axis(r, aval.ndim - 2, 0)
    _, out = lax.scan(one_rotation, w, rows)
    return matrices.upper_triangle(move_axis(out, 0, aval.ndim - 2))


def one_rotation(w, numbered):
    """Row ``k`` and ``w`` after the rotation that makes element ``k`` of ``w`` zero."""
    k, row = numbered
    aval = typeof(w)
    last = aval.ndim - 1
    place = lax.broadcasted_iota(INDEX, shape=aval.shape, dimension=last)
    here = lax.eq(place, lax.broadcast_in_dim(k, shape=aval.shape, broadcast_dimensions=()))

    def at_k(x):
        return lax.reduce_sum(lax.select_n(here, full_of_type(aval, 0), x), axes=(last,))

    a, b = at_k(row), at_k(w)
    one = full_of_type(typeof(a), 1)
    # No rotation is needed, and none could be computed, where both are zero.
    nothing = lax.eq(lax.max(lax.abs(a), lax.abs(b)), full_of_type(typeof(a), 0))
    a = lax.select_n(nothing, a, one)
    length = hypotenuse(a, b)
    cosine = matrices.beside(lax.div(a, length), aval.shape, last)
    sine = matrices.beside(lax.div(b, length), aval.shape, last)
    turned = lax.add(lax.mul(cosine, row), lax.mul(sine, w))
    rest = lax.sub(lax.mul(cosine, w), lax.mul(sine, row))
    return rest, turned


def hypotenuse(a, b):
    """The length of (a, b), computed without overflow; not both may be zero."""
    size = lax.max(lax.abs(a), lax.abs(b))
    a, b = lax.div(a, size), lax.div(b, size)
    squares = lax.add(lax.mul(a, a), lax.mul(b, b))
    return lax.mul(size, lax.sqrt(squares))


@cholesky_update.rule("batch")
def batch_cholesky_update(op, r, w):
    return Batched(op(*at_front(r, w)), 0)


@cholesky_update.rule("jvp")
def jvp_cholesky_update(op, r, w):
    """With ``s`` the new factor and ``d = d(r^T r + w w^T)``: ``ds = x s``, where ``x`` is the upper triangle
    of ``s^-T d s^-1`` with half the diagonal.
    """
    factor = op(r.primal, w.primal)
    change = matrices.product(
        matrices.transposed(matrices.upper_triangle(r.primal)),
        matrices.upper_triangle(instantiate(r.tangent)),
    )
    change = lax.add(change, outer(w.primal, instantiate(w.tangent)))
    change = lax.add(change, matrices.transposed(change))
    params = {"lower": False, "conjugate_a": False, "unit_diagonal": False}
    change = triangular_solve(factor, change, left_side=True, transpose_a=True, **params)
    change = triangular_solve(factor, change, left_side=False, transpose_a=False, **params)
    half = matrices.on_diagonal(matrices.upper_triangle(change), 0.5)
    return Dual(factor, matrices.product(half, factor))


def outer(x, y):
    """The products of the elements of two vectors, as matrices."""
    n = typeof(x).ndim
    return matrices.product(lax.expand_dims(x, dimensions=(n,)), lax.expand_dims(y, dimensions=(n - 1,)))
