"""Eigenvalues of Hermitian matrices."""

from typing import Any

import rabbet.numpy as rnp
from rabbet import Array, lax
from rabbet.extend.functions import fused
from rabbet.scipy.inputs import inexact as in_one_dtype
from rabbet.scipy.inputs import is_complex, one_of
from rabbet.scipy.linalg.matrices import adjoint, batches, inexact, product, square


def ignored(name, **given):
    """Refuse arguments that would have a meaning but are not offered."""
    for argument, value in given.items():
        if value is not None:
            raise NotImplementedError(
                f"{name}: {argument} is not offered, leave it out; a slice of the results picks some of them"
            )


@fused(static=("lower", "eigvals_only", "overwrite_a", "overwrite_b", "turbo", "eigvals", "type",
               "check_finite"))  # fmt: skip
def eigh(
    a: Array,
    b: Array | None = None,
    lower: bool = True,
    eigvals_only: bool = False,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    turbo: bool = True,
    eigvals: None = None,
    type: int = 1,
    check_finite: bool = True,
) -> Array | tuple[Array, Array]:
    """Eigenvalues, increasing, and eigenvectors of Hermitian matrices, also with a second matrix.

    Args:
      a: of shape ``(..., n, n)``.
      b: of shape ``(..., n, n)``, Hermitian and positive definite; leading dimensions are broadcast.
      lower: which triangle is read, after the mean of a matrix and its adjoint was taken.
      eigvals_only: return the eigenvalues alone.
      type: with ``b``: which problem: 1: ``a v = w b v``; 2: ``a b v = w v``; 3: ``b a v = w v``.
      eigvals: None.
      overwrite_a, overwrite_b, turbo, check_finite: not used.

    Returns:
      ``(w, v)``: real of shape ``(..., n)``; of shape ``(..., n, n)``, in columns, with ``v^H b v = 1`` for
      the types 1 and 2 and ``v^H b^-1 v = 1`` for 3. NaN where ``b`` is not positive definite.

    The problem with ``b`` is brought to one without by the Cholesky factor of ``b``, as LAPACK's ``sygst``
    does. Derivatives of the vectors exist where all eigenvalues differ; for a function of a matrix take
    ``funm_hermitian``, which has its derivatives everywhere.

    Raises:
      ValueError: for other shapes or types.
      NotImplementedError: for a range of eigenvalues; slice the results.

    Example:
      >>> w, v = eigh(rnp.array([[2.0, 1.0], [1.0, 2.0]]))
      >>> print(w)
      [1. 3.]
    """
    one_of("eigh", "type", type, (1, 2, 3))
    ignored("eigh", eigvals=eigvals)
    a = square("eigh", a, "a")
    if b is None:
        v, w = lax.linalg.eigh(a, lower=bool(lower))
        return w if eigvals_only else (w, v)
    a, b = batches(*in_one_dtype("eigh", a, square("eigh", b, "b")))
    if a.shape != b.shape:
        raise ValueError(f"eigh: a and b must be of one size, got {a.shape} and {b.shape}")
    factor = lax.linalg.cholesky(b)
    a = (a + adjoint(a)) * 0.5
    conjugate = is_complex(a)

    def divided(x, turn):
        return lax.linalg.triangular_solve(
            factor, x, left_side=True, lower=True, transpose_a=turn, conjugate_a=turn and conjugate
        )

    if type == 1:
        inner = divided(adjoint(divided(a, False)), False)
    else:
        inner = product(adjoint(factor), a, factor)
    v, w = lax.linalg.eigh(inner)
    if eigvals_only:
        return w
    return w, product(factor, v) if type == 3 else divided(v, True)


@fused(static=("eigvals_only", "select", "select_range", "tol"))
def eigh_tridiagonal(
    d: Array,
    e: Array,
    *,
    eigvals_only: bool = False,
    select: str = "a",
    select_range: tuple[float, float] | None = None,
    tol: float | None = None,
    key: Any = None,
) -> Array | tuple[Array, Array]:
    """Eigenvalues, increasing, and eigenvectors of Hermitian matrices with three diagonals.

    Args:
      d: of shape ``(..., n)``, the diagonal.
      e: of shape ``(..., n - 1)`` and the dtype of ``d``, the diagonal beside it.
      eigvals_only: return the eigenvalues alone.
      select: ``"a"``: all; ``"i"``: those whose numbers are in ``select_range``.
      select_range: ``(first, last)``, both included, counted from the smallest eigenvalue.
      tol, key: not used: eigenvalues are exact up to rounding, and nothing is drawn.

    Returns:
      ``(w, v)`` of shapes ``(..., k)`` and ``(..., n, k)``, or ``w``.

    They are found as those of the whole matrix, which takes ``n * n`` numbers of memory; derivatives are as
    for ``eigh``.

    Raises:
      TypeError: if the dtypes differ.
      ValueError: for shapes or a range that do not fit.
      NotImplementedError: for ``select="v"``: how many eigenvalues are in a range of values is not known
        before they are computed.

    Example:
      >>> print(eigh_tridiagonal(rnp.array([2.0, 2.0]), rnp.array([1.0]), eigvals_only=True))
      [1. 3.]
    """
    name = "eigh_tridiagonal"
    d, e = inexact(name, d), inexact(name, e)
    if d.dtype != e.dtype:
        raise TypeError(f"{name}: d and e must have one dtype, got {d.dtype} and {e.dtype}")
    if d.ndim < 1 or e.ndim < 1 or e.shape[-1] != max(d.shape[-1] - 1, 0):
        raise ValueError(
            f"{name} takes d of shape (..., n) and e of shape (..., n - 1), got {d.shape}, {e.shape}"
        )
    if select == "v":
        raise NotImplementedError(
            f"{name}: select='v' is not offered, as shapes would depend on values; compute all eigenvalues "
            "and pick those in the range"
        )
    one_of(name, "select", select, ("a", "i"))
    n = d.shape[-1]
    eye, beside = rnp.eye(n, dtype=d.dtype), rnp.eye(n, k=-1, dtype=d.dtype)
    below = rnp.pad(e, [*[(0, 0)] * (e.ndim - 1), (0, n - e.shape[-1])])[..., None, :] * beside
    a = d[..., None, :] * eye + below + adjoint(below)
    v, w = lax.linalg.eigh(a)
    if select == "i":
        if select_range is None:
            raise ValueError(f"{name}: select='i' needs select_range=(first, last)")
        first, last = [int(i) for i in select_range]
        if not 0 <= first <= last < n:
            raise ValueError(
                f"{name}: select_range must be (first, last) from 0 to {n - 1}, got {select_range}"
            )
        v, w = v[..., first : last + 1], w[..., first : last + 1]
    return w if eigvals_only else (w, v)


__all__ = ["eigh", "eigh_tridiagonal"]
