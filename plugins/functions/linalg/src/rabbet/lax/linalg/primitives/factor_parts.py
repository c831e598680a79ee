"""What the derivatives of matrix factorizations share: diagonals, scaled rows and columns, differences."""

import numpy as np

from rabbet import lax
from rabbet.extend.primitive import full_of_type
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


def inverse_differences(values):
    """``F[i, j] = 1 / (values[j] - values[i])`` and 0 on the diagonal; infinite where two are equal."""
    aval = typeof(values)
    sizes = (*aval.shape, aval.shape[-1])
    apart = lax.sub(as_row(values, sizes), as_column(values, sizes))
    alone = on_diagonal_alone(sizes)
    own = typeof(apart).strong()
    inverse = lax.div(1.0, lax.select_n(alone, apart, full_of_type(own, 1)))
    return lax.select_n(alone, inverse, full_of_type(own, 0))


def over_triangle(b, r):
    """``b r^-1`` for upper triangular ``r``."""
    return triangular_solve(
        r, b, left_side=False, lower=False, transpose_a=False, conjugate_a=False, unit_diagonal=False
    )


def beyond(x, basis):
    """``x`` without its parts along the orthonormal columns of ``basis``: ``(1 - basis basis^H) x``."""
    along = matrices.product(basis, matrices.product(matrices.adjoint(basis), x))
    return lax.sub(x, along)
