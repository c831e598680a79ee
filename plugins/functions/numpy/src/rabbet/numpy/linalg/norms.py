"""Norms of vectors and matrices, and what is measured by them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from rabbet import dtypes, lax
from rabbet.errors import ShapeError
from rabbet.extend.functions import fused
from rabbet.numpy.elementwise.hypot import root_of_size
from rabbet.numpy.linalg.arguments import inexact, largest_size, matrix, square
from rabbet.numpy.linalg.decompositions import eigvalsh, svdvals
from rabbet.numpy.linalg.systems import inv
from rabbet.numpy.shapes.reshaping import array_of
from rabbet.numpy.support.arguments import axes_of, keep_dims, weak_by

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rabbet.typing import Value

MATRIX_ORDERS = (None, "fro", "nuc", math.inf, -math.inf, 1, -1, 2, -2)


@fused(static=("ord", "axis", "keepdims"))
def norm(
    x: Value, ord: Any = None, axis: Any = None, keepdims: bool = False
) -> Value:
    """The norm of a vector, a matrix, or of all elements.

    Args:
      x: an array.
      ord: which norm; None: the square root of the sum of squares. For vectors a number, 0: how many are not
        zero, ``inf``: the largest size. For matrices ``"fro"``, ``"nuc"``, 1, -1, 2, -2, ``inf``, ``-inf``.
      axis: an int: vectors along it; two ints: matrices in them; None: ``x`` is one vector or matrix, or with
        ``ord=None`` any array.
      keepdims: keep reduced dimensions with size 1.

    Raises:
      ValueError: for an ``ord`` that does not exist, or more than two axes.

    Example:
      >>> rnp.linalg.norm(rnp.array([3.0, 4.0]))
      Array(5., dtype=float32)
      >>> rnp.linalg.norm(rnp.array([[3.0, 4.0], [6.0, 8.0]]), axis=1)
      Array([ 5., 10.], dtype=float32)
    """
    x = inexact("norm", x)
    if axis is None:
        axes = tuple(range(x.ndim))
        if ord is None:
            return kept(root_of_squares(x, axes), axes, keepdims)
        if x.ndim not in (1, 2):
            raise ShapeError(
                f"norm with ord={ord!r} takes a vector or a matrix, got {x.aval.str_short()}; give axis"
            )
    else:
        axes = axes_of("norm", axis, x.ndim)
    if len(axes) == 1:
        return kept(vector_size("norm", x, axes, ord), axes, keepdims)
    if len(axes) == 2:
        return kept(matrix_size("norm", x, axes, ord), axes, keepdims)
    raise ValueError(f"norm: axis must be one or two ints, got {axis!r}")


def kept(out: Value, axes: tuple[int, ...], keepdims: bool) -> Value:
    return keep_dims(out, axes) if keepdims else out


def root_of_squares(x: Value, axes: tuple[int, ...]) -> Value:
    """The square root of the sum of squared sizes."""
    if x.dtype.kind == "c":
        squares = lax.add(lax.square(lax.real(x)), lax.square(lax.imag(x)))
    else:
        squares = lax.square(x)
    return root_of_size(lax.reduce_sum(squares, axes))


def vector_size(name: str, x: Value, axes: tuple[int, ...], ord: Any) -> Value:
    """The norm of vectors along one axis (or of all elements over several)."""
    if ord is None or ord == 2:
        return root_of_squares(x, axes)
    if isinstance(ord, str):
        raise ValueError(f"{name}: ord={ord!r} is for matrices; for vectors it is a number")
    if ord == 0:
        zero = lax.full_like(x, 0)
        return lax.reduce_sum(lax.convert_element_type(lax.ne(x, zero), lax.abs(x).dtype), axes)
    size = lax.abs(x)
    if ord in (math.inf, -math.inf):
        return largest(size, axes) if ord > 0 else smallest(name, size, axes)
    if ord == 1:
        return lax.reduce_sum(size, axes)
    total = lax.reduce_sum(lax.pow(size, float(ord)), axes)
    if ord < 0:
        return lax.pow(total, 1.0 / ord)
    nothing = lax.eq(total, 0)  # where the derivative is 0, a subgradient, not NaN
    return lax.select(nothing, total, lax.pow(lax.select(nothing, lax.full_like(total, 1), total), 1.0 / ord))


def matrix_size(name: str, x: Value, axes: tuple[int, ...], ord: Any) -> Value:
    """The norm of matrices in two axes, rows and columns."""
    if ord not in MATRIX_ORDERS:
        known = ", ".join(map(repr, MATRIX_ORDERS))
        raise ValueError(f"{name}: for matrices ord must be one of {known}, got {ord!r}")
    if ord in (None, "fro"):
        return root_of_squares(x, axes)
    rows, columns = axes
    x = lax.transpose(x, [*[d for d in range(x.ndim) if d not in axes], rows, columns])
    last = (x.ndim - 2,)
    if ord in ("nuc", 2, -2):
        s = svdvals(x)
        if ord == "nuc":
            return lax.reduce_sum(s, last)
        return largest(s, last) if ord > 0 else smallest(name, s, last)
    sums = lax.reduce_sum(lax.abs(x), (x.ndim - 2 if abs(ord) == 1 else x.ndim - 1,))
    return largest(sums, last) if ord > 0 else smallest(name, sums, last)


def largest(sizes, axes):
    """The largest of numbers from 0 on; of none it is 0, which is the norm of nothing."""
    return lax.reduce_max(sizes, axes) if filled(sizes, axes) else lax.reduce_sum(sizes, axes)


def smallest(name, sizes, axes):
    """The smallest of numbers, of which there must be one."""
    if not filled(sizes, axes):
        raise ValueError(f"{name}: the smallest of no numbers is not defined; got an array without elements")
    return lax.reduce_min(sizes, axes)


def filled(sizes, axes):
    """Whether there is something along each axis; a size that is not known yet counts as one."""
    return all(type(sizes.shape[axis]) is not int or sizes.shape[axis] for axis in axes)


@fused(static=("keepdims", "ord"))
def matrix_norm(x: Value, /, *, keepdims: bool = False, ord: Any = "fro") -> Value:
    """The norm of matrices of shape ``(..., m, n)``, see ``norm``.

    Example:
      >>> rnp.linalg.matrix_norm(rnp.array([[3.0, 0.0], [0.0, 4.0]]))
      Array(5., dtype=float32)
    """
    x = matrix("matrix_norm", x)
    axes = (x.ndim - 2, x.ndim - 1)
    return kept(matrix_size("matrix_norm", x, axes, ord), axes, keepdims)


@fused(static=("axis", "keepdims", "ord"))
def vector_norm(
    x: Value, /, *, axis: int | Sequence[int] | None = None, keepdims: bool = False, ord: Any = 2
) -> Value:
    """The norm of vectors along one or several axes, or of all elements; see ``norm``.

    Example:
      >>> rnp.linalg.vector_norm(rnp.array([[3.0, 4.0], [6.0, 8.0]]), axis=1)
      Array([ 5., 10.], dtype=float32)
    """
    x = inexact("vector_norm", x)
    axes = axes_of("vector_norm", axis, x.ndim)
    return kept(vector_size("vector_norm", x, axes, ord), axes, keepdims)


@fused(static=("p",))
@weak_by(1)
def cond(x: Value, p: Value = None) -> Value:
    """The condition number of matrices: the norm times that of the inverse.

    Args:
      x: of shape ``(..., m, n)``, square unless ``p`` is None, 2 or -2.
      p: see ``norm``; None: 2, the largest singular value over the smallest.

    Example:
      >>> rnp.linalg.cond(rnp.diag(rnp.array([4.0, 2.0])))
      Array(2., dtype=float32)
    """
    x = matrix("cond", x)
    if p in (None, 2, -2):
        s = svdvals(x)
        if not filled(s, (s.ndim - 1,)):
            raise ValueError(f"cond takes matrices with elements, got {x.aval.str_short()}")
        return lax.div(s[..., -1], s[..., 0]) if p == -2 else lax.div(s[..., 0], s[..., -1])
    square("cond", x)
    axes = (x.ndim - 2, x.ndim - 1)
    return lax.mul(matrix_size("cond", x, axes, p), matrix_size("cond", inv(x), axes, p))


@fused(static=("hermitian",))
def matrix_rank(
    M: Value, rtol: Value | None = None, *, hermitian: bool = False, tol: Value | None = None
) -> Value:
    """How many singular values are not zero, an int32.

    Args:
      M: of shape ``(..., m, n)``; an array of fewer dimensions has rank 1 unless all of it is zero.
      rtol: singular values up to this, relative to the largest, count as zero; None: the machine precision
        times ``max(m, n)``.
      hermitian: ``M`` is Hermitian, which is faster.
      tol: an absolute bound instead.

    Example:
      >>> rnp.linalg.matrix_rank(rnp.array([[1.0, 2.0], [2.0, 4.0]]))
      Array(1, dtype=int32)
    """
    if array_of("matrix_rank", M).ndim < 2:
        x = inexact("matrix_rank", M)
        there = lax.reduce_or(lax.ne(x, lax.full_like(x, 0)), tuple(range(x.ndim)))
        return lax.convert_element_type(there, dtypes.scalar_dtype(int))
    x = matrix("matrix_rank", M)
    s = lax.abs(eigvalsh(x)) if hermitian else svdvals(x)
    last = s.ndim - 1
    if tol is None:
        rtol = largest_size(x) * float(dtypes.finfo(x.dtype).eps) if rtol is None else array_of("rtol", rtol)
        bound = lax.mul(lax.reduce_max(s, (last,)), lax.convert_element_type(rtol, s.dtype))
    else:
        bound = array_of("matrix_rank", tol)
    kinds = tuple(range(bound.ndim))
    wide = lax.broadcast_in_dim(lax.convert_element_type(bound, s.dtype), s.shape, kinds)
    return lax.reduce_sum(lax.convert_element_type(lax.gt(s, wide), dtypes.scalar_dtype(int)), (last,))


__all__ = ["cond", "matrix_norm", "matrix_rank", "norm", "vector_norm"]
