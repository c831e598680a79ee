"""Systems of linear equations, and the factorizations that solve them."""

from typing import Any

import rabbet.numpy as rnp
from rabbet import Array, lax
from rabbet.extend.functions import fused
from rabbet.scipy.inputs import inexact as in_one_dtype
from rabbet.scipy.inputs import is_complex, one_of
from rabbet.scipy.linalg.matrices import (
    adjoint,
    batches,
    diagonal,
    is_vector,
    matrix,
    product,
    square,
    transposed,
)  # fmt: skip

GENERAL = ("gen", "general", "banded", "tridiagonal")
SYMMETRIC = ("sym", "symmetric", "her", "hermitian")
POSITIVE = ("pos", "positive definite")
TRIANGULAR = ("upper triangular", "lower triangular")
KNOWN = (*GENERAL, *SYMMETRIC, *POSITIVE, *TRIANGULAR, "diagonal")
TRANSPOSES = {0: 0, 1: 1, 2: 2, "N": 0, "T": 1, "C": 2}


def columns(name, a, b):
    """A matrix and a right-hand side in one dtype and with equal leading dimensions, and whether the latter
    was one vector.
    """
    a, b = in_one_dtype(name, a, b)
    vector = is_vector(name, a, b)
    a, b = batches(a, b[:, None] if vector else b)
    return a, b, vector


@fused(static=("lower", "overwrite_a", "overwrite_b", "debug", "check_finite", "assume_a"))
def solve(
    a: Array,
    b: Array,
    lower: bool = False,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    debug: bool = False,
    check_finite: bool = True,
    assume_a: str = "gen",
) -> Array:
    """The solution of ``a x = b``.

    Args:
      a: of shape ``(..., n, n)``.
      b: of shape ``(n,)`` or ``(..., n, k)``; the leading dimensions of both are broadcast.
      lower: which triangle of a symmetric, Hermitian or positive definite matrix is read.
      assume_a: what is known of ``a``: ``"gen"``: nothing; ``"sym"``, ``"her"``: it is symmetric or
        Hermitian; ``"pos"``: and positive definite, which is faster; or one of SciPy's longer names of
        these, ``"diagonal"``, ``"upper triangular"``, ``"lower triangular"``. For ``"banded"`` and
        ``"tridiagonal"`` nothing is made of it.
      overwrite_a, overwrite_b, debug, check_finite: not used.

    Returns:
      of the shape of ``b`` (with broadcast leading dimensions); not finite where ``a`` is singular.

    Raises:
      ValueError: for other shapes or an unknown ``assume_a``.

    Example:
      >>> print(solve(rnp.array([[2.0, 0.0], [1.0, 4.0]]), rnp.array([2.0, 5.0])))
      [1. 1.]
    """
    one_of("solve", "assume_a", assume_a, KNOWN)
    a = square("solve", a, "a")
    if assume_a in GENERAL:
        a, b, vector = columns("solve", a, b)
        x = rnp.linalg.solve(a, b)
        return x[..., 0] if vector else x
    if assume_a in TRIANGULAR:
        return solve_triangular(a, b, lower=assume_a.startswith("lower"))
    a, b, vector = columns("solve", a, b)
    if assume_a == "diagonal":
        x = b / diagonal(a)[..., None]
    else:
        half = rnp.tril(a) if lower else rnp.triu(a)
        strict = rnp.tril(a, -1) if lower else rnp.triu(a, 1)
        hermitian = assume_a not in ("sym", "symmetric")
        a = half + (adjoint(strict) if hermitian else transposed(strict))
        if hermitian and is_complex(a):
            a = a - 1j * rnp.eye(a.shape[-1], dtype=a.dtype) * rnp.imag(diagonal(a))[..., None]
        x = positive_solve(a, b) if assume_a in POSITIVE else rnp.linalg.solve(a, b)
    return x[..., 0] if vector else x


def positive_solve(a, b):
    """The solution by a Cholesky factor, whose derivatives are solutions with the same factor."""
    factor = lax.linalg.cholesky(lax.stop_gradient(a), symmetrize_input=False)

    def with_factor(_, b):
        return cho_solve((factor, True), b)

    def with_conjugate(_, b):
        return cho_solve((rnp.conj(factor), True), b)

    return lax.custom_linear_solve(lambda x: product(a, x), b, with_factor, with_conjugate)


@fused(static=("trans", "lower", "unit_diagonal", "overwrite_b", "debug", "check_finite"))
def solve_triangular(
    a: Array,
    b: Array,
    trans: int | str = 0,
    lower: bool = False,
    unit_diagonal: bool = False,
    overwrite_b: bool = False,
    debug: Any = None,
    check_finite: bool = True,
) -> Array:
    """The solution of ``a x = b`` for a triangular matrix.

    Args:
      a: of shape ``(..., n, n)``, of which one triangle is read.
      b: of shape ``(n,)`` or ``(..., n, k)``; the leading dimensions of both are broadcast.
      trans: 0 or ``"N"``: ``a`` itself; 1 or ``"T"``: its transpose; 2 or ``"C"``: its adjoint.
      lower: which triangle.
      unit_diagonal: the diagonal is taken to be ones, without reading it.
      overwrite_b, debug, check_finite: not used.

    Raises:
      ValueError: for other shapes or another ``trans``.

    Example:
      >>> print(solve_triangular(rnp.array([[1.0, 1.0], [0.0, 2.0]]), rnp.array([3.0, 4.0])))
      [1. 2.]
    """
    one_of("solve_triangular", "trans", trans, tuple(TRANSPOSES))
    trans = TRANSPOSES[trans]
    a, b, vector = columns("solve_triangular", square("solve_triangular", a, "a"), b)
    x = lax.linalg.triangular_solve(
        a, b, left_side=True, lower=bool(lower), transpose_a=trans > 0, conjugate_a=trans == 2,
        unit_diagonal=bool(unit_diagonal),
    )  # fmt: skip
    return x[..., 0] if vector else x


# ------------------------------------------------------------------------------------------------ LU factors
@fused(static=("overwrite_a", "check_finite"))
def lu_factor(a: Array, overwrite_a: bool = False, check_finite: bool = True) -> tuple[Array, Array]:
    """LU factors with partial pivoting, as ``lu_solve`` takes them.

    Args:
      a: of shape ``(..., m, n)``.
      overwrite_a, check_finite: not used.

    Returns:
      ``(lu, piv)``: of shape ``(..., m, n)``, ``l`` below the diagonal (its own is ones) and ``u`` on and
      above it; int32 of shape ``(..., min(m, n))``: with which later row each row was swapped.

    Example:
      >>> factors, pivots = lu_factor(rnp.array([[0.0, 2.0], [1.0, 3.0]]))
      >>> print(factors, pivots)
      [[1. 3.]
       [0. 2.]] [1 1]
    """
    factors, pivots, _ = lax.linalg.lu(matrix("lu_factor", a, "a"))
    return factors, pivots


@fused(static=("trans", "overwrite_b", "check_finite"))
def lu_solve(
    lu_and_piv: tuple[Array, Array],
    b: Array,
    trans: int = 0,
    overwrite_b: bool = False,
    check_finite: bool = True,
) -> Array:
    """The solution of ``a x = b`` by the LU factors of ``a``.

    Args:
      lu_and_piv: what ``lu_factor`` returned for ``a`` of shape ``(..., n, n)``.
      b: of shape ``(n,)`` or ``(..., n, k)``; leading dimensions are broadcast.
      trans: 0: ``a`` itself; 1: its transpose; 2: its adjoint.
      overwrite_b, check_finite: not used.

    Raises:
      ValueError: for other shapes or another ``trans``.

    Example:
      >>> print(lu_solve(lu_factor(rnp.array([[0.0, 2.0], [1.0, 3.0]])), rnp.array([2.0, 4.0])))
      [1. 1.]
    """
    one_of("lu_solve", "trans", trans, (0, 1, 2))
    factors, pivots = lu_and_piv
    factors, b, vector = columns("lu_solve", square("lu_solve", factors, "lu"), b)
    n = factors.shape[-1]
    pivots = rnp.broadcast_to(pivots, (*b.shape[:-2], pivots.shape[-1]))
    order = lax.linalg.lu_pivots_to_permutation(pivots, n)

    def half(x, lower):
        return lax.linalg.triangular_solve(
            factors, x, left_side=True, lower=lower, transpose_a=trans > 0, conjugate_a=trans == 2,
            unit_diagonal=lower,
        )  # fmt: skip

    if trans == 0:
        x = half(half(rnp.take_along_axis(b, order[..., None], -2), True), False)
    else:
        x = rnp.take_along_axis(half(half(b, False), True), rnp.argsort(order, -1)[..., None], -2)
    return x[..., 0] if vector else x


# ------------------------------------------------------------------------------------------ Cholesky factors
@fused(static=("lower", "overwrite_a", "check_finite"))
def cholesky(a: Array, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True) -> Array:
    """The Cholesky factor of Hermitian positive definite matrices.

    Args:
      a: of shape ``(..., n, n)``, of which one triangle is read.
      lower: True: ``l`` with ``a = l l^H``, from the lower triangle; False: ``u`` with ``a = u^H u``, from
        the upper one.
      overwrite_a, check_finite: not used.

    Returns:
      of the shape of ``a``; NaN where a matrix is not positive definite.

    Example:
      >>> print(cholesky(rnp.array([[4.0, 2.0], [2.0, 10.0]])))
      [[2. 1.]
       [0. 3.]]
    """
    a = square("cholesky", a, "a")
    factor = lax.linalg.cholesky(a if lower else adjoint(a), symmetrize_input=False)
    return factor if lower else adjoint(factor)


def cho_factor(
    a: Array, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True
) -> tuple[Array, bool]:
    """The Cholesky factor, as ``cho_solve`` takes it: ``(cholesky(a, lower), lower)``. The triangle beside
    the factor holds zeros. ``overwrite_a`` and ``check_finite`` have no effect.

    Example:
      >>> factor, lower = cho_factor(rnp.array([[4.0]]))
      >>> print(factor, lower)
      [[2.]] False
    """
    return cholesky(a, lower), lower


def cho_solve(
    c_and_lower: tuple[Array, bool], b: Array, overwrite_b: bool = False, check_finite: bool = True
) -> Array:
    """The solution of ``a x = b`` by the Cholesky factor of ``a``.

    Args:
      c_and_lower: what ``cho_factor`` returned for ``a`` of shape ``(..., n, n)``.
      b: of shape ``(n,)`` or ``(..., n, k)``; leading dimensions are broadcast.
      overwrite_b, check_finite: not used.

    Raises:
      ValueError: for other shapes.

    Example:
      >>> print(cho_solve(cho_factor(rnp.array([[4.0]])), rnp.array([8.0])))
      [2.]
    """
    factor, lower = c_and_lower
    return by_cholesky(factor, b, lower=bool(lower))


@fused(static=("lower",))
def by_cholesky(factor, b, *, lower):
    factor, b, vector = columns("cho_solve", square("cho_solve", factor, "the factor"), b)
    conjugate = is_complex(factor)
    for adjoint_turn in (not lower, lower):
        b = lax.linalg.triangular_solve(
            factor, b, left_side=True, lower=lower, transpose_a=adjoint_turn,
            conjugate_a=adjoint_turn and conjugate,
        )  # fmt: skip
    return b[..., 0] if vector else b


# --------------------------------------------------------------------------------- inverses and determinants
@fused(static=("overwrite_a", "check_finite"))
def inv(a: Array, overwrite_a: bool = False, check_finite: bool = True) -> Array:
    """The inverse of square matrices of shape ``(..., n, n)``; not finite where there is none.
    ``overwrite_a`` and ``check_finite`` have no effect.

    Example:
      >>> print(inv(rnp.array([[2.0, 0.0], [0.0, 4.0]])))
      [[0.5  0.  ]
       [0.   0.25]]
    """
    return rnp.linalg.inv(square("inv", a, "a"))


@fused(static=("overwrite_a", "check_finite"))
def det(a: Array, overwrite_a: bool = False, check_finite: bool = True) -> Array:
    """The determinant of square matrices of shape ``(..., n, n)``; of shape ``(...)``. ``overwrite_a`` and
    ``check_finite`` have no effect.

    Example:
      >>> print(det(rnp.array([[2.0, 0.0], [0.0, 4.0]])))
      8.0
    """
    return rnp.linalg.det(square("det", a, "a"))


__all__ = [
    "cho_factor", "cho_solve", "cholesky", "det", "inv", "lu_factor", "lu_solve", "solve", "solve_triangular",
]  # fmt: skip
