"""Systems of linear equations."""

from __future__ import annotations

import operator
from collections.abc import Callable
from math import prod
from typing import TYPE_CHECKING, Any

from rabbet import lax
from rabbet.extend.functions import fused
from rabbet.lax.linalg import matrices
from rabbet.numpy.creation.matrices import eye
from rabbet.numpy.linalg.arguments import inexact, square
from rabbet.numpy.products.dots import matmul, operands
from rabbet.numpy.reductions.reducing import spread_to
from rabbet.numpy.shapes.reshaping import array_of
from rabbet.numpy.support.arguments import axes_of, weak_by

if TYPE_CHECKING:
    from rabbet.typing import Value


@fused
@weak_by(2)
def solve(a: Value, b: Value) -> Value:
    """The solution of ``a x = b``, by LU factors.

    Args:
      a: of shape ``(..., n, n)``.
      b: of shape ``(n,)`` or ``(..., n, k)``; the leading dimensions of both are broadcast.

    Raises:
      ValueError: for other shapes.

    Example:
      >>> rnp.linalg.solve(rnp.array([[2.0, 0.0], [0.0, 4.0]]), rnp.array([2.0, 8.0]))
      Array([1., 2.], dtype=float32)
    """
    a, b = operands("solve", square("solve", a), inexact("solve", b))
    n = a.shape[-1]
    vector = b.ndim == 1
    if b.ndim == 0 or b.shape[-1 if vector else -2] != n:
        raise ValueError(
            "solve takes a of shape (..., n, n) and b of shape (n,) or (..., n, k), got "
            f"{a.aval.str_short()} and {b.aval.str_short()}"
        )
    if vector:
        b = lax.expand_dims(b, (1,))
    batch = lax.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    a, b = spread_to(a, (*batch, n, n)), spread_to(b, (*batch, n, b.shape[-1]))
    x = by_factors(a, b)
    return lax.squeeze(x, (x.ndim - 1,)) if vector else x


def by_factors(a: Value, b: Value) -> Value:
    """The solution for equally long batches. Its derivatives are solutions with the same factors; where no
    package for such derivatives is installed, transformations go through the factorization.
    """
    by_equation = getattr(lax, "custom_linear_solve", None)
    factors, _, permutation = lax.linalg.lu(a if by_equation is None else lax.stop_gradient(a))

    def solve(_: Any, b: Value) -> Any:
        b = matrices.rows_at(b, permutation)
        b = lax.linalg.triangular_solve(factors, b, left_side=True, lower=True, unit_diagonal=True)
        return lax.linalg.triangular_solve(factors, b, left_side=True)

    def transpose_solve(_: Callable[..., Any], b: Value) -> Any:
        b = lax.linalg.triangular_solve(factors, b, left_side=True, transpose_a=True)
        b = lax.linalg.triangular_solve(
            factors, b, left_side=True, lower=True, transpose_a=True, unit_diagonal=True
        )
        places = lax.broadcasted_iota("int32", permutation.shape, permutation.ndim - 1)
        return matrices.rows_at(b, lax.sort_key_val(permutation, places)[1])

    if by_equation is None:
        return solve(None, b)
    return by_equation(lambda x: matrices.product(a, x), b, solve, transpose_solve)


@fused
def inv(a: Value) -> Value:
    """The inverse of square matrices of shape ``(..., n, n)``; not finite where there is none.

    Example:
      >>> rnp.linalg.inv(rnp.array([[2.0, 0.0], [0.0, 4.0]]))
      Array([[0.5 , 0.  ],
             [0.  , 0.25]], dtype=float32)
    """
    a = square("inv", a)
    return by_factors(a, matrices.identity(a.aval.strong()))


@fused(static=("axes",))
def tensorsolve(a: Value, b: Value, axes: Any = None) -> Value:
    """The array ``x`` with ``tensordot(a, x, x.ndim) = b``.

    Args:
      a: of the shape of ``b`` and then that of ``x``, with as many elements in both.
      axes: dimensions of ``a`` to move to the end first.

    Example:
      >>> rnp.linalg.tensorsolve(rnp.eye(4).reshape(2, 2, 2, 2), rnp.ones((2, 2)))
      Array([[1., 1.],
             [1., 1.]], dtype=float32)
    """
    a, b = inexact("tensorsolve", a), inexact("tensorsolve", b)
    if axes is not None:
        moved = axes_of("tensorsolve", tuple(axes), a.ndim)
        a = lax.transpose(a, [*[d for d in range(a.ndim) if d not in moved], *moved])
    unknowns = a.shape[b.ndim :]
    if a.shape[: b.ndim] != b.shape or prod(unknowns) != b.size:
        raise ValueError(
            "tensorsolve takes a of the shape of b followed by as many elements, got "
            f"{a.aval.str_short()} and {b.aval.str_short()}"
        )
    x = solve(lax.reshape(a, (b.size, b.size)), lax.reshape(b, (b.size,)))
    return lax.reshape(x, unknowns)


@fused(static=("ind",))
def tensorinv(a: Value, ind: int = 2) -> Value:
    """The inverse of ``a`` as a map: ``tensordot(tensorinv(a, ind), a, ind)`` is the identity.

    Args:
      a: an array whose first ``ind`` dimensions have as many elements as the others.

    Example:
      >>> rnp.linalg.tensorinv(rnp.eye(4).reshape(2, 2, 4), ind=2).shape
      (4, 2, 2)
    """
    a = inexact("tensorinv", a)
    rows, columns = a.shape[:ind], a.shape[ind:]
    if ind <= 0 or prod(rows) != prod(columns):
        raise ValueError(
            f"tensorinv with ind={ind} takes as many elements in the first {ind} dimensions as in the "
            f"others, and ind > 0, got {a.aval.str_short()}"
        )
    return lax.reshape(inv(lax.reshape(a, (prod(rows), prod(columns)))), (*columns, *rows))


@fused(static=("n",))
def matrix_power(a: Value, n: int) -> Value:
    """Square matrices multiplied with themselves: ``n`` times, for negative ``n`` their inverses.

    Args:
      a: of shape ``(..., m, m)``.
      n: an int; for 0 the result is the identity.

    Example:
      >>> rnp.linalg.matrix_power(rnp.array([[1, 1], [0, 1]]), 3)
      Array([[1, 3],
             [0, 1]], dtype=int32)
    """
    n = operator.index(n)
    given = array_of("matrix_power", a)
    a = square("matrix_power", a)
    if n >= 0:  # a product of integers is one
        a = given
    if n == 0:
        return spread_to(eye(a.shape[-1], dtype=a.dtype), a.shape)
    if n < 0:
        a, n = inv(a), -n
    out = None
    while True:
        if n % 2:
            out = a if out is None else matmul(out, a)
        n //= 2
        if not n:
            return out
        a = matmul(a, a)


__all__ = ["inv", "matrix_power", "solve", "tensorinv", "tensorsolve"]
