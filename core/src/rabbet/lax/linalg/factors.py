"""Factorizations: Cholesky and LU."""

from rabbet.interpreter import typeof
from rabbet.lax.linalg.wide import in_single
from rabbet.primitives import elementwise, linalg_cholesky, matrices, zeros


@in_single
def cholesky(x, *, symmetrize_input=True):
    """The Cholesky factor of a Hermitian positive definite matrix: lower triangular ``l``, ``x = l l^H``.

    Args:
      x: of shape ``(..., n, n)``, floating or complex.
      symmetrize_input: True: the mean of ``x`` and its adjoint is used, so that derivatives are Hermitian.
        False: only the lower triangle is read.

    Returns:
      ``l`` of shape ``(..., n, n)``; filled with NaN where a matrix is not positive definite.
    """
    matrices.square_matrices("cholesky", typeof(x))
    return linalg_cholesky.cholesky(symmetrized(x) if symmetrize_input else x)


def symmetrized(x):
    """The mean of each matrix and its adjoint."""
    total = elementwise.add(x, matrices.adjoint(x))
    return elementwise.mul(total, zeros.full(typeof(total).strong(), 0.5))
