"""Orthogonal factors and products of reflections."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rabbet.lax.linalg import primitives
from rabbet.lax.linalg.conversion import in_single

if TYPE_CHECKING:

    from rabbet.typing import Value


@in_single
def qr(
    x: Value, *, pivoting: bool = False, full_matrices: bool = True, use_magma: bool | None = None
) -> tuple[Value, Value]:
    """The QR decomposition: ``x = q r``, ``q`` with orthonormal columns, ``r`` upper triangular.

    Args:
      x: of shape ``(..., m, n)``, floating or complex.
      pivoting: choose the order of columns so that the diagonal of ``r`` decreases (CPU only).
      full_matrices: whether ``q`` is square, of shape ``(..., m, m)``, and ``r`` of the shape of ``x``;
        else ``q`` has ``min(m, n)`` columns and ``r`` as many rows.
      use_magma: not used.

    Returns:
      ``(q, r)``; with ``pivoting`` ``(q, r, p)``, ``p`` being int32 of shape ``(..., n)``, ``x[:, p] = q r``.

    Derivatives exist where the first ``min(m, n)`` columns are independent, with ``full_matrices`` only if
    ``m <= n``.

    Example:
      >>> q, r = lax.linalg.qr(rnp.ones((3, 2)), full_matrices=False)
      >>> q.shape, r.shape
      ((3, 2), (2, 2))
    """
    return tuple(primitives.qr.qr(x, pivoting=bool(pivoting), full_matrices=bool(full_matrices)))


@in_single
def geqrf(a: Value) -> tuple[Value, Value]:
    """The QR decomposition as reflections: ``r`` in the upper triangle, their vectors in the lower one.

    Args:
      a: of shape ``(..., m, n)``, floating or complex.

    Returns:
      ``(a, taus)``, what ``householder_product`` and ``ormqr`` take; ``taus`` of shape ``(..., min(m, n))``.

    Example:
      >>> a = rnp.array([[3.0, 1.0], [4.0, 2.0]])
      >>> r, taus = lax.linalg.geqrf(a)
      >>> rnp.triu(r)
      Array([[-5.        , -2.2       ],
             [ 0.        ,  0.39999998]], dtype=float32)
    """
    return tuple(primitives.qr.geqrf(a))


@in_single
def geqp3(a: Value) -> Value:
    """``geqrf`` of ``a[:, p]``, the order of columns being chosen so that the diagonal of ``r`` decreases.

    Returns:
      ``(a, p, taus)``; ``p`` is int32, of shape ``(..., n)``.

    Example:
      >>> packed, pivots, taus = lax.linalg.geqp3(rnp.array([[1.0, 5.0], [2.0, 6.0]]))
      >>> pivots
      Array([1, 0], dtype=int32)
    """
    return tuple(primitives.qr.geqp3(a))


@in_single
def householder_product(a: Value, taus: Value) -> Value:
    """The first columns of a product of Householder reflections ``1 - tau v v^H``.

    Args:
      a: of shape ``(..., m, n)`` with ``m >= n``: the vectors are ones on the diagonal and what is below.
      taus: of shape ``(..., k)`` with ``k <= n``, the factors.

    Returns:
      of the shape of ``a``.

    Raises:
      ValueError: if the shapes do not fit.

    Example:
      >>> packed, taus = rnp.linalg.qr(rnp.eye(3), mode="raw")
      >>> lax.linalg.householder_product(packed.T, taus).shape
      (3, 3)
    """
    return primitives.qr.householder_product(a, taus)


@in_single
def ormqr(a: Value, taus: Value, c: Value, *, left: bool = True, transpose: bool = False) -> Value:
    """Multiply by the unitary ``q`` of a QR decomposition without forming it.

    Args:
      a, taus: the reflections, as ``geqrf`` returns them: of shapes ``(..., m, n)`` and ``(..., k)``.
      c: of shape ``(..., m, l)``, or ``(..., l, m)`` unless ``left``.
      left: ``q c`` rather than ``c q``.
      transpose: the transpose (of complex numbers the adjoint) of ``q`` instead.

    Returns:
      of the shape of ``c``.

    Raises:
      ValueError: if the shapes do not fit.
      TypeError: if dtypes differ.

    Example:
      >>> a = rnp.array([[3.0, 1.0], [4.0, 2.0]])
      >>> r, taus = lax.linalg.geqrf(a)
      >>> lax.linalg.ormqr(r, taus, rnp.triu(r))
      Array([[3., 1.],
             [4., 2.]], dtype=float32)
    """
    return primitives.qr.ormqr(a, taus, c, left=bool(left), transpose=bool(transpose))
