"""Sylvester's equation."""

import rabbet.numpy as rnp
from rabbet import Array, lax
from rabbet.extend.functions import fused
from rabbet.scipy.inputs import complex_dtype, is_complex, one_of, where
from rabbet.scipy.inputs import inexact as in_one_dtype
from rabbet.scipy.linalg.matrices import (
    adjoint,
    batches,
    diagonal,
    matrix,
    product,
    square,
    transposed,
    wide,
)  # fmt: skip
from rabbet.scipy.linalg.schur_forms import column, column_by_column, schur_of, shifted_solve, with_column


@fused(static=("method", "tol"))
def solve_sylvester(A: Array, B: Array, C: Array, *, method: str = "schur", tol: float = 1e-8) -> Array:
    """The solution of ``A x + x B = C``.

    Args:
      A: of shape ``(..., m, m)``.
      B: of shape ``(..., n, n)``.
      C: of shape ``(..., m, n)``; leading dimensions are broadcast.
      method: ``"schur"``: by the Schur forms of ``A`` and ``B`` (R. Bartels and G. Stewart, Solution of the
        matrix equation AX + XB = C, 1972); ``"eigen"``: by their eigenvectors, which is less exact where
        these are nearly dependent. Both on the CPU only.
      tol: where an eigenvalue of ``A`` and one of ``B`` add up to less than this, the result is NaN.

    Returns:
      of the shape of ``C``. Derivatives with respect to all three are solutions with the same factors.

    Raises:
      ValueError: for shapes that do not fit, or an unknown method.

    Example:
      >>> print(solve_sylvester(rnp.array([[1.0]]), rnp.array([[3.0]]), rnp.array([[8.0]])))
      [[2.]]
    """
    name = "solve_sylvester"
    one_of(name, "method", method, ("schur", "eigen"))
    A, B, C = square(name, A, "A"), square(name, B, "B"), matrix(name, C, "C")
    if C.shape[-2:] != (A.shape[-1], B.shape[-1]):
        raise ValueError(
            f"{name} takes A of shape (..., m, m), B of shape (..., n, n) and C of shape (..., m, n), got "
            f"{A.shape}, {B.shape} and {C.shape}"
        )
    A, B, C = batches(*in_one_dtype(name, A, B, C))
    dtype = C.dtype
    A, B, C = wide(A), wide(B), wide(C)
    known = [lax.stop_gradient(x) for x in (A, B)]
    if method == "schur":
        left, right = schur_of(known[0]), schur_of(known[1])
        x = implicitly(A, B, C, lambda C: from_schur(left, right, C), lambda C: from_schur(right, left, C))
        sums = diagonal(left[0])[..., :, None] + diagonal(right[0])[..., None, :]
    else:
        left, right = by_vectors(known[0]), by_vectors(known[1])
        x = implicitly(
            A, B, C, lambda C: from_vectors(left, right, C), lambda C: from_vectors(right, left, C)
        )
        sums = left[0][..., :, None] + right[0][..., None, :]
    singular = rnp.any(rnp.abs(sums) < tol, (-2, -1), keepdims=True)
    return rnp.asarray(where(singular, rnp.nan, x), dtype)


def implicitly(A, B, C, solve, solve_turned):
    """The solution, as a function of all three.

    Args:
      solve: of ``A x + x B = C`` with the factors of both.
      solve_turned: of ``B x + x A = C``, by which the transposed equation is solved.
    """
    real = not is_complex(C)

    def part(x):
        return rnp.real(x) if real else x

    return lax.custom_linear_solve(
        lambda x: product(A, x) + product(x, B),
        C,
        lambda _, C: part(solve(C)),
        lambda _, C: part(transposed(solve_turned(transposed(C)))),
    )


def from_schur(left, right, C):
    """The solution by the complex Schur forms of both matrices: a triangular system for each column."""
    (r, u), (s, v) = left, right
    f = product(adjoint(u), rnp.asarray(C, complex_dtype(C.dtype)), v)
    everything = rnp.ones(r.shape[-1], bool)

    def step(j, y):
        rest = column(f, j) - product(y, column(s, j)[..., None])[..., 0]
        return with_column(
            y, shifted_solve(r, column(diagonal(s)[..., None, :], j)[..., 0], rest, everything), j
        )

    y = column_by_column(s.shape[-1], rnp.zeros_like(f), step)
    return product(u, y, adjoint(v))


def by_vectors(a):
    """Eigenvalues and eigenvectors."""
    return lax.linalg.eig(a, compute_left_eigenvectors=False)


def from_vectors(left, right, C):
    """The solution by the eigenvectors of both matrices."""
    (p, v), (q, w) = left, right
    inner = rnp.linalg.solve(v, product(rnp.asarray(C, v.dtype), w))
    return transposed(
        rnp.linalg.solve(transposed(w), transposed(product(v, inner / (p[..., :, None] + q[..., None, :]))))
    )


__all__ = ["solve_sylvester"]
