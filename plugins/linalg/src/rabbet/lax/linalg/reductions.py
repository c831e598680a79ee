"""Simpler forms of square matrices: Hessenberg, tridiagonal, Schur."""

from rabbet.lax.linalg import primitives
from rabbet.lax.linalg.conversion import in_single


@in_single
def hessenberg(a):
    """Reduce square matrices to upper Hessenberg form by Householder reflections (CPU only).

    Args:
      a: of shape ``(..., n, n)``, floating or complex.

    Returns:
      ``(a, taus)``: of shape ``(..., n, n)``, the Hessenberg form on and above the first lower diagonal and
      the reflections' vectors below it; of shape ``(..., n - 1)``, the factors of the reflections.
    """
    return tuple(primitives.reductions.hessenberg(a))


@in_single
def tridiagonal(a, *, lower=True):
    """Reduce Hermitian matrices to tridiagonal form by Householder reflections (CPU only).

    Args:
      a: of shape ``(..., n, n)``, floating or complex.
      lower: which triangle is read and written.

    Returns:
      ``(a, d, e, taus)``: of shape ``(..., n, n)``, the tridiagonal form and beyond it the reflections'
      vectors; its diagonal, real, of shape ``(..., n)``; the diagonal beside it, real, and the factors of the
      reflections, of shape ``(..., n - 1)``.
    """
    return tuple(primitives.reductions.tridiagonal(a, lower=bool(lower)))


@in_single
def schur(x, *, compute_schur_vectors=True, sort_eig_vals=False, select_callable=None):
    """The Schur form ``x = q t q^H`` of square matrices (CPU only).

    Args:
      x: of shape ``(..., n, n)``, floating or complex.
      compute_schur_vectors: whether to compute ``q``.
      sort_eig_vals, select_callable: not used.

    Returns:
      ``(t, q)``, or ``t`` alone. For real ``x`` the form is real: upper triangular but for blocks of two on
      the diagonal that stand for pairs of complex eigenvalues. NaN where the iteration did not converge.
    """
    out = primitives.reductions.schur(x, compute_schur_vectors=bool(compute_schur_vectors))
    return tuple(out) if compute_schur_vectors else out[0]
