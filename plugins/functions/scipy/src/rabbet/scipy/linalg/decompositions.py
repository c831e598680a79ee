"""Factorizations of a matrix into simpler ones: LU, QR, singular values, polar."""

from typing import Any

import rabbet.numpy as rnp
from rabbet import Array, lax
from rabbet.extend.functions import fused
from rabbet.scipy.inputs import inexact as in_one_dtype
from rabbet.scipy.inputs import one_of, real_dtype
from rabbet.scipy.linalg.matrices import adjoint, batches, matrix, product, wide

QR_MODES = ("full", "r", "economic", "raw")


@fused(static=("permute_l", "overwrite_a", "check_finite"))
def lu(
    a: Array, permute_l: bool = False, overwrite_a: bool = False, check_finite: bool = True
) -> tuple[Array, ...]:
    """LU factors with partial pivoting: ``a = p l u``.

    Args:
      a: of shape ``(..., m, n)``.
      permute_l: return ``p l`` instead of both.
      overwrite_a, check_finite: not used.

    Returns:
      ``(p, l, u)`` or ``(p l, u)``: a real permutation of shape ``(..., m, m)``; lower triangular with ones
      on its diagonal, ``(..., m, k)``; upper triangular, ``(..., k, n)``; ``k`` is ``min(m, n)``.

    Example:
      >>> p, l, u = lu(rnp.array([[0.0, 2.0], [1.0, 3.0]]))
      >>> print(u)
      [[1. 3.]
       [0. 2.]]
    """
    a = matrix("lu", a, "a")
    factors, _, order = lax.linalg.lu(a)
    m, n = a.shape[-2:]
    k = min(m, n)
    lower = rnp.tril(factors[..., :k], -1) + rnp.eye(m, k, dtype=a.dtype)
    upper = rnp.triu(factors[..., :k, :])
    if permute_l:
        return rnp.take_along_axis(lower, rnp.argsort(order, -1)[..., None], -2), upper
    p = rnp.asarray(order[..., None, :] == rnp.arange(m, dtype="int32")[:, None], real_dtype(a.dtype))
    return p, lower, upper


@fused(static=("overwrite_a", "lwork", "mode", "pivoting", "check_finite"))
def qr(
    a: Array,
    overwrite_a: bool = False,
    lwork: Any = None,
    mode: str = "full",
    pivoting: bool = False,
    check_finite: bool = True,
) -> tuple[Any, ...]:
    """The QR decomposition: ``a = q r``, ``q`` with orthonormal columns, ``r`` upper triangular.

    Args:
      a: of shape ``(..., m, n)``.
      mode: ``"full"``: ``q`` is square and ``r`` of the shape of ``a``; ``"economic"``: ``q`` has
        ``min(m, n)`` columns and ``r`` as many rows; ``"r"``: only ``r``; ``"raw"``: in place of ``q`` the
        pair of reflections and their factors.
      pivoting: choose the order of columns so that the diagonal of ``r`` decreases (CPU only).
      overwrite_a, lwork, check_finite: not used.

    Returns:
      ``(q, r)``, or ``(r,)`` with ``mode="r"``; with ``pivoting`` also ``p``, int32 of shape ``(..., n)``:
      ``a[:, p] = q r``.

    Raises:
      ValueError: for an unknown mode.

    Example:
      >>> q, r = qr(rnp.array([[0.0], [2.0]]), mode="economic")
      >>> print(r)
      [[-2.]]
    """
    one_of("qr", "mode", mode, QR_MODES)
    a = matrix("qr", a, "a")
    if mode == "raw":
        a = wide(a)
        packed, *p, taus = lax.linalg.geqp3(a) if pivoting else lax.linalg.geqrf(a)
        return ((packed, taus), rnp.triu(packed[..., : min(a.shape[-2:]), :]), *p)
    q, *rest = lax.linalg.qr(a, pivoting=bool(pivoting), full_matrices=mode != "economic")
    return tuple(rest) if mode == "r" else (q, *rest)


@fused(static=("mode", "pivoting", "conjugate", "overwrite_a", "overwrite_c"))
def qr_multiply(
    a: Array,
    c: Array,
    mode: str = "right",
    pivoting: bool = False,
    conjugate: bool = False,
    overwrite_a: bool = False,
    overwrite_c: bool = False,
) -> tuple[Array, ...]:
    """The QR decomposition of a matrix, and the product of ``q`` with another one.

    Args:
      a: of shape ``(..., m, n)``.
      c: with ``mode="left"`` of shape ``(..., k, p)``, ``k = min(m, n)``, or a column ``(k,)``; with
        ``"right"`` of shape ``(..., p, m)``, or a row ``(m,)``. Leading dimensions are broadcast.
      mode: ``"left"``: ``q c``; ``"right"``: ``c q``. ``q`` has ``k`` columns.
      pivoting: choose the order of columns, see ``qr``.
      conjugate: take the conjugate of ``q``.
      overwrite_a, overwrite_c: not used.

    Returns:
      ``(product, r)``, with ``pivoting`` ``(product, r, p)``; ``r`` is of shape ``(..., k, n)``.

    Raises:
      ValueError: for an unknown mode or shapes that do not fit.

    Example:
      >>> product, r = qr_multiply(rnp.array([[0.0], [2.0]]), rnp.array([1.0, 1.0]))
      >>> print(product, r)
      [-1.] [[-2.]]
    """
    one_of("qr_multiply", "mode", mode, ("left", "right"))
    a, c = in_one_dtype("qr_multiply", matrix("qr_multiply", a, "a"), c)
    vector = c.ndim == 1
    if vector:
        c = c[:, None] if mode == "left" else c[None]
    wanted = min(a.shape[-2:]) if mode == "left" else a.shape[-2]
    if c.ndim < 2 or c.shape[-2 if mode == "left" else -1] != wanted:
        raise ValueError(
            f"qr_multiply: with mode={mode!r} and a of shape {a.shape}, c must have {wanted} "
            f"{'rows' if mode == 'left' else 'columns'}, got shape {c.shape}"
        )
    q, *rest = lax.linalg.qr(a, pivoting=bool(pivoting), full_matrices=False)
    q = rnp.conj(q) if conjugate else q
    q, c = batches(q, c)
    out = product(q, c) if mode == "left" else product(c, q)
    if vector:
        out = out[..., 0] if mode == "left" else out[..., 0, :]
    return (out, *rest)


@fused(static=("full_matrices", "compute_uv", "overwrite_a", "check_finite", "lapack_driver"))
def svd(
    a: Array,
    full_matrices: bool = True,
    compute_uv: bool = True,
    overwrite_a: bool = False,
    check_finite: bool = True,
    lapack_driver: str = "gesdd",
) -> Array | tuple[Array, Array, Array]:
    """The singular value decomposition ``a = u diag(s) vh``.

    Args:
      a: of shape ``(..., m, n)``.
      full_matrices: whether ``u`` and ``vh`` are square; else they have ``min(m, n)`` columns and rows.
      compute_uv: False: return only ``s``.
      lapack_driver: ``"gesdd"``: the default algorithm of the platform; ``"gesvd"``: QR steps.
      overwrite_a, check_finite: not used.

    Returns:
      ``(u, s, vh)``, or ``s``, which is real and decreases.

    Example:
      >>> print(svd(rnp.array([[3.0, 0.0], [0.0, 4.0]]), compute_uv=False))
      [4. 3.]
    """
    one_of("svd", "lapack_driver", lapack_driver, ("gesdd", "gesvd"))
    algorithm = lax.linalg.SvdAlgorithm.QR if lapack_driver == "gesvd" else None
    return lax.linalg.svd(
        matrix("svd", a, "a"), full_matrices=full_matrices, compute_uv=compute_uv, algorithm=algorithm
    )


@fused(static=("side", "method", "eps", "max_iterations"))
def polar(
    a: Array,
    side: str = "right",
    *,
    method: str = "qdwh",
    eps: float | None = None,
    max_iterations: int | None = None,
) -> tuple[Array, Array]:
    """The polar decomposition: ``a = u p`` or ``a = p u`` with orthonormal ``u`` and positive ``p``.

    Args:
      a: of shape ``(..., m, n)``.
      side: on which side of ``u`` the Hermitian positive semidefinite ``p`` stands: ``"right"`` or
        ``"left"``.
      method: ``"qdwh"``: the dynamically weighted Halley iteration of ``lax.linalg.qdwh``, for matrices of
        full rank; ``"svd"``: by singular values.
      eps, max_iterations: of the iteration, see ``lax.linalg.qdwh``.

    Returns:
      ``(u, p)``: of shape ``(..., m, n)``, with orthonormal columns, or rows where ``m < n``; of shape
      ``(..., n, n)`` or ``(..., m, m)``.

    Derivatives are those of the iteration, or of singular values and vectors, which must differ then.

    Raises:
      ValueError: for an unknown side or method.

    Example:
      >>> u, p = polar(rnp.array([[0.0, -2.0], [3.0, 0.0]]))
      >>> print(np.asarray(u).round(3) + 0.0, np.asarray(p).round(3) + 0.0)
      [[ 0. -1.]
       [ 1.  0.]] [[3. 0.]
       [0. 2.]]
    """
    one_of("polar", "side", side, ("right", "left"))
    one_of("polar", "method", method, ("qdwh", "svd"))
    a = matrix("polar", a, "a")
    m, n = a.shape[-2:]
    if method == "svd":
        u, s, vh = lax.linalg.svd(a, full_matrices=False)
        unitary = product(u, vh)
        scale = rnp.asarray(s, a.dtype)[..., None, :]
        if side == "right":
            return unitary, product(adjoint(vh) * scale, vh)
        return unitary, product(u * scale, adjoint(u))
    flat = m < n
    tall = adjoint(a) if flat else a
    u = lax.linalg.qdwh(wide(tall), eps=eps, max_iterations=max_iterations)[0]
    unitary = rnp.asarray(adjoint(u) if flat else u, a.dtype)
    p = product(adjoint(unitary), a) if side == "right" else product(a, adjoint(unitary))
    return unitary, (p + adjoint(p)) * 0.5


__all__ = ["lu", "polar", "qr", "qr_multiply", "svd"]
