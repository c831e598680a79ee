"""Systems of linear equations whose matrix has a simple form."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rabbet import lax
from rabbet.extend.transform import typeof
from rabbet.lax.linalg import primitives
from rabbet.lax.linalg.conversion import in_single

if TYPE_CHECKING:

    from rabbet.typing import Value


@in_single
def triangular_solve(
    a: Value,
    b: Value,
    *,
    left_side: bool = False,
    lower: bool = False,
    transpose_a: bool = False,
    conjugate_a: bool = False,
    unit_diagonal: bool = False,
) -> Value:
    """Solve ``op(a) x = b`` (with ``left_side``) or ``x op(a) = b`` for ``x``, ``a`` being triangular.

    Args:
      a: of shape ``(..., n, n)``; the triangle that ``lower`` names is read.
      b: of shape ``(..., n, k)`` with ``left_side``, else ``(..., k, n)``; or ``(..., n)``, a vector each.
      left_side: whether the matrix stands on the left.
      lower: whether ``a`` is lower triangular.
      transpose_a, conjugate_a: what ``op`` does with ``a``; both: the adjoint.
      unit_diagonal: take the diagonal of ``a`` to be ones, without reading it.

    Returns:
      ``x``, of the shape of ``b``.

    Example:
      >>> a, b = rnp.array([[2.0, 0.0], [0.0, 4.0]]), rnp.array([[2.0], [8.0]])
      >>> lax.linalg.triangular_solve(a, b, left_side=True, lower=True)
      Array([[1.],
             [2.]], dtype=float32)
    """
    vector = typeof(b).ndim == typeof(a).ndim - 1
    side = typeof(b).ndim - (0 if left_side else 1)
    if vector:
        b = lax.expand_dims(b, dimensions=(side,))
    complex_a = typeof(a).kind == "c"
    out = primitives.triangular.triangular_solve(
        a, b, left_side=bool(left_side), lower=bool(lower), transpose_a=bool(transpose_a),
        conjugate_a=bool(conjugate_a) and complex_a, unit_diagonal=bool(unit_diagonal),
    )  # fmt: skip
    return lax.squeeze(out, dimensions=(side,)) if vector else out


@in_single
def tridiagonal_solve(dl: Value, d: Value, du: Value, b: Value, *, perturb_singular: bool = False) -> Value:
    """Solve ``a x = b`` for ``x``, ``a`` having three diagonals.

    Args:
      dl: of shape ``(..., n)``, ``dl[i] = a[i, i - 1]``; ``dl[0]`` is not read.
      d: of shape ``(..., n)``, ``d[i] = a[i, i]``.
      du: of shape ``(..., n)``, ``du[i] = a[i, i + 1]``; ``du[n - 1]`` is not read.
      b: of shape ``(..., n, k)``.
      perturb_singular: move pivots that are nearly zero away from it, so that systems that are singular get
        a finite answer (on the CPU).

    Returns:
      ``x``, of the shape of ``b``; NaN for a singular ``a``, and without row swaps on platforms that have no
      routine of their own.

    Example:
      >>> d, b = rnp.array([2.0, 4.0]), rnp.array([[2.0], [8.0]])
      >>> lax.linalg.tridiagonal_solve(rnp.zeros(2), d, rnp.zeros(2), b)
      Array([[1.],
             [2.]], dtype=float32)
    """
    return primitives.tridiagonal.tridiagonal_solve(dl, d, du, b, perturb_singular=bool(perturb_singular))
