"""Factorizations and eigenvalues. They are those of ``lax.linalg``, with NumPy's arguments."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from rabbet import Array, lax
from rabbet.extend.functions import fused
from rabbet.lax.linalg import matrices
from rabbet.numpy.linalg.arguments import matrix, one_of, square
from rabbet.numpy.shapes.rearranging import flip
from rabbet.numpy.support.arguments import weak_by

if TYPE_CHECKING:
    from rabbet.typing import Value


class EigResult(NamedTuple):
    """What ``eig`` returns."""

    eigenvalues: Array
    eigenvectors: Array


class EighResult(NamedTuple):
    """What ``eigh`` returns."""

    eigenvalues: Array
    eigenvectors: Array


class QRResult(NamedTuple):
    """What ``qr`` returns."""

    Q: Array
    R: Array


class SVDResult(NamedTuple):
    """What ``svd`` returns."""

    U: Array
    S: Array
    Vh: Array


@fused(static=("upper", "symmetrize_input"))
@weak_by(1)
def cholesky(a: Value, *, upper: bool = False, symmetrize_input: bool = True) -> Value:
    """The Cholesky factor of Hermitian positive definite matrices: ``a = l l^H``.

    Args:
      a: of shape ``(..., n, n)``.
      upper: return ``l^H`` instead.
      symmetrize_input: use the mean of ``a`` and its adjoint; else one triangle is read.

    Returns:
      of the shape of ``a``; NaN where a matrix is not positive definite.

    Example:
      >>> rnp.linalg.cholesky(rnp.array([[4.0, 2.0], [2.0, 2.0]]))
      Array([[2., 0.],
             [1., 1.]], dtype=float32)
    """
    a = square("cholesky", a)
    if upper and not symmetrize_input:
        a = matrices.adjoint(a)
    factor = lax.linalg.cholesky(a, symmetrize_input=symmetrize_input)
    return matrices.adjoint(factor) if upper else factor


@fused(static=("mode",))
@weak_by(1)
def qr(a: Value, mode: str = "reduced") -> QRResult | Value:
    """The QR decomposition: ``a = q r``, ``q`` with orthonormal columns, ``r`` upper triangular.

    Args:
      a: of shape ``(..., m, n)``.
      mode: ``"reduced"`` or ``"full"``: ``q`` has ``min(m, n)`` columns; ``"complete"``: ``m``; ``"r"``: only
        ``r``; ``"raw"``: ``(h, tau)``, reflections as LAPACK keeps them, transposed.

    Example:
      >>> q, r = rnp.linalg.qr(rnp.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]))
      >>> q.shape, r.shape, rnp.allclose(q.T @ q, rnp.eye(2), atol=1e-5)
      ((3, 2), (2, 2), Array(True, dtype=bool))
    """
    a = matrix("qr", a)
    one_of("qr", "mode", mode, ("reduced", "complete", "r", "raw", "full"))
    if mode == "raw":
        reflections, taus = lax.linalg.geqrf(a)
        return QRResult(matrices.transposed(reflections), taus)
    q, r = lax.linalg.qr(a, full_matrices=mode == "complete")
    return r if mode == "r" else QRResult(q, r)


@fused(static=("full_matrices", "compute_uv", "hermitian", "subset_by_index"))
@weak_by(1)
def svd(
    a: Value,
    full_matrices: bool = True,
    compute_uv: bool = True,
    hermitian: bool = False,
    subset_by_index: Any = None,
) -> SVDResult | Value:
    """The singular value decomposition ``a = u diag(s) vh``.

    Args:
      a: of shape ``(..., m, n)``.
      full_matrices: whether ``u`` and ``vh`` are square.
      compute_uv: False: return only ``s``.
      hermitian: ``a`` is Hermitian: it is computed from eigenvalues, which is faster.
      subset_by_index: ``(start, end)``: only these singular values and their vectors.

    Returns:
      ``(U, S, Vh)``, or ``S``, which is real and decreases.

    Example:
      >>> u, s, vt = rnp.linalg.svd(rnp.array([[3.0, 0.0], [0.0, 4.0]]))
      >>> s
      Array([4., 3.], dtype=float32)
    """
    a = matrix("svd", a)
    if not hermitian:
        out = lax.linalg.svd(
            a, full_matrices=full_matrices, compute_uv=compute_uv, subset_by_index=subset_by_index
        )
        return SVDResult(*out) if compute_uv else out
    if subset_by_index is not None:
        raise ValueError("svd: subset_by_index and hermitian=True do not go together")
    v, w = lax.linalg.eigh(square("svd", a))
    size = lax.abs(w)
    if not compute_uv:
        return flip(lax.sort(size), -1)
    order = flip(lax.sort_key_val(size, lax.broadcasted_iota("int32", w.shape, w.ndim - 1))[1], -1)
    u = matrices.transposed(matrices.rows_at(matrices.transposed(v), order))
    w = lax.squeeze(matrices.rows_at(lax.expand_dims(w, (w.ndim,)), order), (w.ndim,))
    signs = lax.convert_element_type(lax.select(lax.lt(w, 0.0), lax.full_like(w, -1), lax.full_like(w, 1)),
                                     u.dtype)  # fmt: skip
    vh = matrices.adjoint(lax.mul(u, matrices.beside(signs, u.shape, u.ndim - 2)))
    return SVDResult(u, lax.abs(w), vh)


def svdvals(x: Value, /) -> Value:
    """The singular values of matrices of shape ``(..., m, n)``, the largest first.

    Example:
      >>> rnp.linalg.svdvals(rnp.array([[3.0, 0.0], [0.0, 4.0]]))
      Array([4., 3.], dtype=float32)
    """
    return svd(x, compute_uv=False)


@fused(static=("UPLO", "symmetrize_input"))
@weak_by(1)
def eigh(a: Value, UPLO: str | None = None, symmetrize_input: bool = True) -> EighResult:
    """Eigenvalues, increasing, and eigenvectors of Hermitian matrices.

    Args:
      a: of shape ``(..., n, n)``.
      UPLO: ``"L"`` or ``"U"``: which triangle is read unless ``symmetrize_input``.
      symmetrize_input: use the mean of ``a`` and its adjoint.

    Returns:
      ``(eigenvalues, eigenvectors)``: real of shape ``(..., n)``; of shape ``(..., n, n)``, in columns.

    Derivatives of eigenvectors exist where all eigenvalues differ. For a function of the matrix, such as
    ``v diag(f(w)) v^H``, take ``rabbet.scipy.linalg.funm_hermitian(a, f)``, which has its derivatives
    everywhere.

    Example:
      >>> values, vectors = rnp.linalg.eigh(rnp.array([[2.0, 1.0], [1.0, 2.0]]))
      >>> values
      Array([1., 3.], dtype=float32)
    """
    one_of("eigh", "UPLO", UPLO, (None, "L", "U"))
    v, w = lax.linalg.eigh(square("eigh", a), lower=UPLO != "U", symmetrize_input=symmetrize_input)
    return EighResult(w, v)


def eigvalsh(a: Value, UPLO: str | None = "L", *, symmetrize_input: bool = True) -> Value:
    """The eigenvalues of Hermitian matrices, see ``eigh``.

    Example:
      >>> rnp.linalg.eigvalsh(rnp.array([[2.0, 1.0], [1.0, 2.0]]))
      Array([1., 3.], dtype=float32)
    """
    return eigh(a, UPLO, symmetrize_input).eigenvalues


@fused
@weak_by(1)
def eig(a: Value) -> Any:
    """Eigenvalues and eigenvectors, complex, of square matrices of shape ``(..., n, n)`` (CPU only).

    Returns:
      ``(eigenvalues, eigenvectors)``: of shape ``(..., n)``; of shape ``(..., n, n)``, in columns.

    Example:
      >>> values, vectors = rnp.linalg.eig(rnp.array([[0.0, 1.0], [-1.0, 0.0]]))
      >>> rnp.sort(values.imag)
      Array([-1.,  1.], dtype=float32)
    """
    w, v = lax.linalg.eig(square("eig", a), compute_left_eigenvectors=False)
    return EigResult(w, v)


@fused
@weak_by(1)
def eigvals(a: Value) -> Value:
    """The eigenvalues, complex, of square matrices of shape ``(..., n, n)`` (CPU only).

    Example:
      >>> rnp.sort(rnp.linalg.eigvals(rnp.diag(rnp.array([2.0, 1.0]))).real)
      Array([1., 2.], dtype=float32)
    """
    return lax.linalg.eig(
        square("eigvals", a), compute_left_eigenvectors=False, compute_right_eigenvectors=False
    )[0]


__all__ = ["cholesky", "eig", "eigh", "eigvals", "eigvalsh", "qr", "svd", "svdvals"]
