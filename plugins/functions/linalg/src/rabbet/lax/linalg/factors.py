"""Factorizations: Cholesky and LU, and what goes with them."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING

from rabbet import lax
from rabbet.extend.transform import typeof
from rabbet.lax.linalg import matrices, primitives
from rabbet.lax.linalg.conversion import in_single

if TYPE_CHECKING:
    from typing import Any

    from rabbet.typing import Value


@in_single
def cholesky(x: Value, *, symmetrize_input: bool = True) -> Value:
    """The Cholesky factor of a Hermitian positive definite matrix: lower triangular ``l``, ``x = l l^H``.

    Args:
      x: of shape ``(..., n, n)``, floating or complex; integers are made floats.
      symmetrize_input: True: the mean of ``x`` and its adjoint is used, so that derivatives are Hermitian.
        False: only the lower triangle is read.

    Returns:
      ``l`` of shape ``(..., n, n)``; filled with NaN where a matrix is not positive definite.

    Example:
      >>> lax.linalg.cholesky(rnp.array([[4.0, 2.0], [2.0, 2.0]]))
      Array([[2., 0.],
             [1., 1.]], dtype=float32)
    """
    x = matrices.in_floats(x)
    matrices.square_matrices("cholesky", typeof(x))
    return primitives.cholesky.cholesky(symmetrized(x) if symmetrize_input else x)


def symmetrized(x):
    """The mean of each matrix and its adjoint."""
    total = lax.add(x, matrices.adjoint(x))
    return lax.mul(total, 0.5)


@in_single
def cholesky_update(r_matrix: Value, w_vector: Value) -> Value:
    """The Cholesky factor of ``r^T r + w w^T``, by about ``n^2`` operations.

    Args:
      r_matrix: upper triangular ``r`` of shape ``(..., n, n)``, real.
      w_vector: ``w`` of shape ``(..., n)``.

    Returns:
      an upper triangular matrix of the shape of ``r``.

    Example:
      >>> l = lax.linalg.cholesky(rnp.eye(2))
      >>> lax.linalg.cholesky_update(l, rnp.array([1.0, 0.0])).round(2).shape
      (2, 2)
    """
    return primitives.updates.cholesky_update(r_matrix, w_vector)


@in_single
def lu(x: Value) -> list[Value]:
    """LU factors with partial pivoting: ``x[permutation] = l u``.

    Args:
      x: of shape ``(..., m, n)``, floating or complex.

    Returns:
      ``[lu, pivots, permutation]``: of shape ``(..., m, n)``, ``l`` below the diagonal (its own is ones) and
      ``u`` on and above it; int32 of shape ``(..., min(m, n))``, with which later row each row was swapped;
      int32 of shape ``(..., m)``, the same as a permutation.

    Example:
      >>> lu, pivots, permutation = lax.linalg.lu(rnp.array([[0.0, 2.0], [1.0, 0.0]]))
      >>> permutation
      Array([1, 0], dtype=int32)
    """
    return list(primitives.lu.lu(x))


def lu_pivots_to_permutation(pivots: Value, permutation_size: int) -> Any:
    """The permutation that the row swaps of ``lu`` amount to.

    Args:
      pivots: integers of shape ``(..., k)``: row ``i`` is swapped with row ``pivots[..., i]``, one after the
        other.
      permutation_size: of the permutation, at least ``k``.

    Returns:
      of shape ``(..., permutation_size)`` and the dtype of ``pivots``.

    Example:
      >>> lax.linalg.lu_pivots_to_permutation(rnp.array([1, 1]), 2)
      Array([1, 0], dtype=int32)
    """
    size = operator.index(permutation_size)
    return primitives.lu.lu_pivots_to_permutation(pivots, permutation_size=size)


@in_single
def symmetric_product(
    a_matrix: Value,
    c_matrix: Value,
    *,
    alpha: float = 1.0,
    beta: float = 0.0,
    symmetrize_output: bool = False,
) -> Value:
    """``alpha a a^T + beta c`` for symmetric ``c``.

    Args:
      a_matrix: of shape ``(..., m, n)``.
      c_matrix: of shape ``(..., m, m)``.
      alpha, beta: Python numbers.
      symmetrize_output: copy the lower triangle to the upper one, so that the result is symmetric to the
        last bit.

    Returns:
      of shape ``(..., m, m)``.

    Example:
      >>> lax.linalg.symmetric_product(rnp.array([[1.0, 2.0]]), rnp.zeros((1, 1)))
      Array([[5.]], dtype=float32)
    """
    out = primitives.updates.symmetric_product(a_matrix, c_matrix, alpha=alpha, beta=beta)
    if not symmetrize_output:
        return out
    return matrices.where_below(out, matrices.transposed(out))
