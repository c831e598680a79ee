"""Singular values, eigenvalues, and their vectors."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING

from rabbet import lax
from rabbet.errors import ShapeError
from rabbet.extend.rules import to_dtype
from rabbet.extend.transform import typeof
from rabbet.lax.linalg import matrices, primitives
from rabbet.lax.linalg.conversion import SINGLE, in_single, is_narrow
from rabbet.lax.linalg.factors import symmetrized
from rabbet.lax.linalg.primitives.eig import EigImplementation
from rabbet.lax.linalg.primitives.eigh import EighImplementation
from rabbet.lax.linalg.primitives.svd import SvdAlgorithm

if TYPE_CHECKING:
    from typing import Any

    from rabbet.typing import Value


@in_single
def svd(
    x: Value,
    *,
    full_matrices: bool = True,
    compute_uv: bool = True,
    subset_by_index: Any = None,
    algorithm: Any = None,
) -> Any:
    """The singular value decomposition ``x = u diag(s) vh``.

    Args:
      x: of shape ``(..., m, n)``, floating or complex.
      full_matrices: whether ``u`` and ``vh`` are square; else they have ``min(m, n)`` columns and rows.
      compute_uv: False: only ``s``, which takes less time.
      subset_by_index: ``(start, end)``: only these singular values and vectors, counted from the largest.
      algorithm: a ``SvdAlgorithm``; the CPU offers ``DIVIDE_AND_CONQUER``, the default, and ``QR``.

    Returns:
      ``(u, s, vh)`` of shapes ``(..., m, k)``, ``(..., k)`` and ``(..., k, n)``, or ``s``. ``s`` is real and
      decreases. NaN where the algorithm does not converge.

    Derivatives of ``u`` and ``vh`` exist where all singular values differ, and with ``full_matrices`` only if
    ``m == n``; those of ``s`` alone need neither. For functions of the matrix, such as ``u vh``, take
    ``rabbet.scipy.linalg.polar``, which has its derivatives also at equal singular values.

    Raises:
      ValueError: for a range that does not fit, or one together with ``full_matrices`` and ``compute_uv``.

    Example:
      >>> u, s, vt = lax.linalg.svd(rnp.diag(rnp.array([3.0, 4.0])))
      >>> s
      Array([4., 3.], dtype=float32)
    """
    aval = typeof(x)
    matrices.matrices("svd", aval)
    algorithm = member("svd", "algorithm", SvdAlgorithm, algorithm)
    k = min(aval.shape[-2:])
    chosen = subset("svd", subset_by_index, k)
    if chosen is not None and compute_uv and full_matrices:
        raise ShapeError("svd: subset_by_index needs full_matrices=False or compute_uv=False")
    full = bool(full_matrices and compute_uv)
    out = primitives.svd.svd(x, full_matrices=full, compute_uv=bool(compute_uv), algorithm=algorithm)
    if chosen is not None:
        axes = (-1, -1, -2) if compute_uv else (-1,)
        out = [lax.slice_in_dim(y, *chosen, axis=d) for y, d in zip(out, axes)]
    return tuple(out) if compute_uv else out[0]


@in_single
def eigh(
    x: Value,
    *,
    lower: bool = True,
    symmetrize_input: bool = True,
    sort_eigenvalues: bool = True,
    subset_by_index: Any = None,
    implementation: Any = None,
) -> Any:
    """Eigenvalues and eigenvectors of Hermitian matrices: ``x v = v diag(w)``.

    Args:
      x: of shape ``(..., n, n)``, floating or complex.
      lower: which triangle is read unless ``symmetrize_input``.
      symmetrize_input: use the mean of ``x`` and its adjoint.
      sort_eigenvalues: True: in increasing order. False: in whatever order is cheapest.
      subset_by_index: ``(start, end)``: only these, counted from the smallest eigenvalue.
      implementation: an ``EighImplementation``; the CPU offers ``QR``.

    Returns:
      ``(v, w)``: of shape ``(..., n, n)``, with an eigenvector of length 1 in each column; of shape
      ``(..., n)``, real. NaN where the algorithm does not converge.

    Derivatives of ``v`` exist where all eigenvalues differ. For a function of the matrix, such as
    ``v diag(f(w)) v^H``, take ``rabbet.scipy.linalg.funm_hermitian(x, f)``, which has its derivatives
    everywhere.

    Raises:
      ValueError: for a range that does not fit, or matrices that are not square.

    Example:
      >>> vectors, values = lax.linalg.eigh(rnp.array([[2.0, 1.0], [1.0, 2.0]]))
      >>> values
      Array([1., 3.], dtype=float32)
    """
    x = matrices.in_floats(x)
    aval = typeof(x)
    matrices.square_matrices("eigh", aval)
    chosen = subset("eigh", subset_by_index, aval.shape[-1])
    v, w = primitives.eigh.eigh(
        symmetrized(x) if symmetrize_input else x, lower=bool(lower), sort_eigenvalues=bool(sort_eigenvalues),
        implementation=member("eigh", "implementation", EighImplementation, implementation),
    )  # fmt: skip
    if chosen is not None:
        v, w = lax.slice_in_dim(v, *chosen, axis=-1), lax.slice_in_dim(w, *chosen, axis=-1)
    return v, w


def eig(
    x: Value,
    *,
    compute_left_eigenvectors: bool = True,
    compute_right_eigenvectors: bool = True,
    enable_eigvec_derivs: bool | None = None,
    implementation: Any = None,
    use_magma: bool | None = None,
) -> Any:
    """Eigenvalues and eigenvectors of square matrices (CPU only): ``x vr = vr diag(w)`` and
    ``vl^H x = diag(w) vl^H``.

    Args:
      x: of shape ``(..., n, n)``, floating or complex.
      compute_left_eigenvectors, compute_right_eigenvectors: whether to return ``vl`` and ``vr``.
      enable_eigvec_derivs: derivatives with eigenvectors hold where all eigenvalues differ, and are NaN where
        two are equal. True: only what depends on equal ones has NaN or infinite derivatives, which serves one
        vector apart from the others; a function that needs equal ones may get 0 in place of its derivative.
        False refuses them. Where a vector has two components of largest magnitude, derivatives are right for
        functions that do not depend on its phase.
      implementation: an ``EigImplementation``; the CPU offers ``LAPACK``.
      use_magma: not used.

    Returns:
      ``[w, vl, vr]`` as far as asked for, complex: of shape ``(..., n)`` and ``(..., n, n)``, a vector of
      length 1 whose largest component is real in each column. NaN where the algorithm does not converge.

    Raises:
      NotImplementedError: for another implementation, or derivatives of eigenvectors that were not allowed.

    Example:
      >>> values, left, right = lax.linalg.eig(rnp.array([[0.0, 1.0], [-1.0, 0.0]]))
      >>> rnp.sort(values.imag)
      Array([-1.,  1.], dtype=float32)
    """
    matrices.square_matrices("eig", typeof(x))
    implementation = member("eig", "implementation", EigImplementation, implementation)
    if implementation not in (None, EigImplementation.LAPACK):
        raise NotImplementedError(f"eig by {implementation} is not offered; use EigImplementation.LAPACK")
    wide = to_dtype(x, SINGLE) if is_narrow(typeof(x).dtype) else x
    return primitives.eig.eig(
        wide, compute_left_eigenvectors=bool(compute_left_eigenvectors),
        compute_right_eigenvectors=bool(compute_right_eigenvectors),
        enable_eigvec_derivs=None if enable_eigvec_derivs is None else bool(enable_eigvec_derivs),
    )  # fmt: skip


def member(name, argument, enum, given):
    """A member of an enum, or None."""
    if given is None:
        return None
    try:
        return enum(given)
    except ValueError:
        known = ", ".join([f"{enum.__name__}.{m}" for m in enum.__members__])
        raise ShapeError(f"{name}: {argument} must be one of {known}, got {given!r}") from None


def subset(name, given, n):
    """A range of indices, or None for all."""
    if given is None:
        return None
    start, end = [operator.index(i) for i in given]
    if not 0 <= start <= end <= n:
        raise ShapeError(f"{name}: subset_by_index must be (start, end) from 0 to {n}, got {(start, end)}")
    return None if (start, end) == (0, n) else (start, end)
