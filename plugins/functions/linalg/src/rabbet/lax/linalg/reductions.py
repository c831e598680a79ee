"""Simpler forms of square matrices: Hessenberg, tridiagonal, Schur."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rabbet.lax.linalg import primitives
from rabbet.lax.linalg.conversion import in_single

if TYPE_CHECKING:
    from typing import Any

    from rabbet.typing import Value


@in_single
def hessenberg(a: Value) -> Value:
    """Reduce square matrices to upper Hessenberg form by Householder reflections (CPU only).

    Args:
      a: of shape ``(..., n, n)``, floating or complex.

    Returns:
      ``[a, taus]``: of shape ``(..., n, n)``, the Hessenberg form on and above the first lower diagonal and
      the reflections' vectors below it; of shape ``(..., n - 1)``, the factors of the reflections.

    Example:
      >>> packed, taus = lax.linalg.hessenberg(rnp.ones((3, 3)))
      >>> packed.shape, taus.shape
      ((3, 3), (2,))
    """
    return list(primitives.reductions.hessenberg(a))


@in_single
def tridiagonal(a: Value, *, lower: bool = True) -> Value:
    """Reduce Hermitian matrices to tridiagonal form by Householder reflections (CPU only).

    Args:
      a: of shape ``(..., n, n)``, floating or complex.
      lower: which triangle is read and written.

    Returns:
      ``[a, d, e, taus]``: of shape ``(..., n, n)``, the tridiagonal form and beyond it the reflections'
      vectors; its diagonal, real, of shape ``(..., n)``; the diagonal beside it, real, and the factors of the
      reflections, of shape ``(..., n - 1)``.

    Example:
      >>> packed, d, e, taus = lax.linalg.tridiagonal(rnp.eye(3))
      >>> d
      Array([1., 1., 1.], dtype=float32)
    """
    return list(primitives.reductions.tridiagonal(a, lower=bool(lower)))


@in_single
def schur(
    x: Value, *, compute_schur_vectors: bool = True, sort_eig_vals: bool = False, select_callable: Any = None
) -> list[Value]:
    """The Schur form ``x = q t q^H`` of square matrices (CPU only).

    Args:
      x: of shape ``(..., n, n)``, floating or complex.
      compute_schur_vectors: whether to compute ``q``.
      sort_eig_vals, select_callable: False and None; the values are not sorted.

    Returns:
      ``[t, q]``, or ``[t]``. For real ``x`` the form is real: upper triangular but for blocks of two on
      the diagonal that stand for pairs of complex eigenvalues. NaN where the iteration did not converge.

    Raises:
      NotImplementedError: for other ``sort_eig_vals`` or ``select_callable``.

    Example:
      >>> t, z = lax.linalg.schur(rnp.array([[2.0, 1.0], [0.0, 3.0]]))
      >>> rnp.allclose(z @ t @ z.T, rnp.array([[2.0, 1.0], [0.0, 3.0]]), atol=1e-5)
      Array(True, dtype=bool)
    """
    if sort_eig_vals or select_callable is not None:
        raise NotImplementedError(
            "schur: eigenvalues are not sorted; leave out sort_eig_vals and select_callable"
        )
    return list(primitives.reductions.schur(x, compute_schur_vectors=bool(compute_schur_vectors)))
