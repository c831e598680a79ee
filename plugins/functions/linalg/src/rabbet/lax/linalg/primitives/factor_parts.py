"""What the derivatives of matrix factorizations share: diagonals, scaled rows and columns, differences."""

import numpy as np

from rabbet import dtypes, lax
from rabbet.errors import ShapeError
from rabbet.extend.primitive import Batched, Dual, Linear, Primitive, Zero, full_of_type, move_axis
from rabbet.extend.rules import to_dtype
from rabbet.extend.transform import typeof
from rabbet.lax.linalg import matrices
from rabbet.lax.linalg.primitives.triangular import triangular_solve


def as_row(x, sizes):
    """Vectors as rows of matrices of shape ``sizes``, each repeated for all rows."""
    return matrices.beside(x, sizes, len(sizes) - 2)


def as_column(x, sizes):
    """Vectors as columns of matrices of shape ``sizes``, each repeated for all columns."""
    return matrices.beside(x, sizes, len(sizes) - 1)


def scaled_columns(x, factors):
    """``x diag(factors)`` for each matrix and vector."""
    aval = typeof(x)
    return lax.mul(x, as_row(to_dtype(factors, aval.dtype), aval.shape))


def scaled_rows(factors, x):
    """``diag(factors) x`` for each vector and matrix."""
    aval = typeof(x)
    return lax.mul(as_column(to_dtype(factors, aval.dtype), aval.shape), x)


def on_diagonal_alone(sizes):
    """True on the diagonal of matrices of shape ``sizes``."""
    n = len(sizes)
    row, column = [lax.broadcasted_iota(np.dtype("int32"), shape=sizes, dimension=d) for d in (n - 2, n - 1)]
    return lax.eq(row, column)


def without_diagonal(x):
    """Each matrix with zeros on its diagonal."""
    aval = typeof(x)
    return lax.select_n(on_diagonal_alone(aval.shape), x, full_of_type(aval.strong(), 0))


def diagonal(x):
    """The diagonal of each square matrix, a vector."""
    aval = typeof(x)
    alone = lax.select_n(on_diagonal_alone(aval.shape), full_of_type(aval.strong(), 0), x)
    return lax.reduce_sum(alone, axes=(aval.ndim - 1,))


def imaginary_diagonal(x, aval):
    """Complex matrices of type ``aval`` with ``i x`` on their diagonals, zeros elsewhere."""
    turned = lax.complex(full_of_type(typeof(x).strong(), 0), x)
    return scaled_columns(matrices.identity(aval.strong()), turned)


def real_part(x):
    """The real part, of a real array the array itself."""
    return lax.real(x) if typeof(x).kind == "c" else x


def _one_type(x, y):
    if x.shape != y.shape or x.dtype != y.dtype:
        raise ShapeError(f"times_or_zero takes two arrays of one type, got {x.str_short()}, {y.str_short()}")
    return x.strong()


times_or_zero = Primitive(
    "times_or_zero", _one_type, kinds=("elementwise",), operands=("x", "y"),
    doc="x * y, and 0 where either is 0, also beside infinity",
)  # fmt: skip


@times_or_zero.decompose
def product_of_what_is_there(op, x, y):
    nothing = lax.bitwise_or(lax.eq(x, 0.0), lax.eq(y, 0.0))
    return lax.select_n(nothing, lax.mul(x, y), full_of_type(typeof(x).strong(), 0))


@times_or_zero.rule("jvp")
def jvp_times_or_zero(op, x, y):
    out, tangent = op(x.primal, y.primal), None
    for a, b in ((x.tangent, y.primal), (x.primal, y.tangent)):
        if type(a) is not Zero and type(b) is not Zero:
            term = op(a, b)
            tangent = term if tangent is None else lax.add(tangent, term)
    return Dual(out, tangent)


@times_or_zero.rule("transpose")
def transpose_times_or_zero(op, ct, x, y):
    return (op(ct, y), None) if type(x) is Linear else (None, op(x, ct))


inverse_differences = Primitive(
    "inverse_differences", lambda values: values.update(shape=(*values.shape, values.shape[-1])).strong(),
    doc="F[i, j] = 1 / (values[j] - values[i]) and 0 on the diagonal; infinite where two are nearly equal",
)  # fmt: skip
ROUNDING = 4  # how many units of rounding of the largest value two equal ones may seem to be apart


def differences(values):
    """``values[j] - values[i]``."""
    aval = typeof(values)
    sizes = (*aval.shape, aval.shape[-1])
    return lax.sub(as_row(values, sizes), as_column(values, sizes))


@inverse_differences.decompose
def inverse_of_differences(op, values):
    """Values that differ by rounding alone count as equal: quotients by their difference would be numbers of
    no meaning, and nobody could tell.
    """
    apart = differences(values)
    sizes, own = typeof(apart).shape, typeof(apart).strong()
    alone = on_diagonal_alone(sizes)
    eps = float(dtypes.finfo(own.dtype).eps)
    largest = lax.reduce_max(lax.abs(values), axes=(typeof(values).ndim - 1,))
    bound = matrices.beside(lax.mul(largest, ROUNDING * eps), sizes, len(sizes) - 2, len(sizes) - 1)
    equal = lax.le(lax.abs(apart), bound)
    apart = lax.select_n(equal, apart, full_of_type(own, 0))
    inverse = lax.div(1.0, lax.select_n(alone, apart, full_of_type(own, 1)))
    return lax.select_n(alone, inverse, full_of_type(own, 0))


@inverse_differences.rule("batch")
def batch_inverse_differences(op, values):
    return Batched(op(move_axis(values.value, values.axis, 0)), 0)


@inverse_differences.rule("jvp")
def jvp_inverse_differences(op, values):
    """``-F dD F``, where what does not move stays, also beside infinity."""
    out = op(values.primal)
    change = times_or_zero(out, times_or_zero(out, differences(values.tangent)))
    return Dual(out, lax.neg(change))


def ties_apart(values):
    """Increasing values, of exactly equal ones that are not 0 all but the first a unit of rounding larger.

    A product with zero says that a function does not treat a vector, or that it is 0 at its value: the
    derivative of ``v f(w) v^H`` by ``v`` is ``f(w)`` times something, and where ``f`` is 0 at equal values
    its own slope counts, of which the vectors know nothing. With these values only a function that is 0
    around them, too, has such zeros; for any other an infinity meets a number, and the result is none.
    """
    aval = typeof(values)
    n = aval.shape[-1]
    if n < 2:
        return values
    lead = (0,) * (aval.ndim - 1)
    most = lax.slice(values, start_indices=(*lead, 0), limit_indices=(*aval.shape[:-1], n - 1))
    config = (*((0, 0, 0),) * len(lead), (1, 0, 0))
    before = lax.pad(most, full_of_type(aval.strong().update(shape=()), np.nan), padding_config=config)
    more = lax.add(values, lax.mul(lax.abs(values), float(dtypes.finfo(aval.dtype).eps)))
    return lax.select_n(lax.eq(values, before), values, more)


def over_triangle(b, r):
    """``b r^-1`` for upper triangular ``r``."""
    return triangular_solve(
        r, b, left_side=False, lower=False, transpose_a=False, conjugate_a=False, unit_diagonal=False
    )


def beyond(x, basis):
    """``x`` without its parts along the orthonormal columns of ``basis``: ``(1 - basis basis^H) x``."""
    along = matrices.product(basis, matrices.product(matrices.adjoint(basis), x))
    return lax.sub(x, along)
