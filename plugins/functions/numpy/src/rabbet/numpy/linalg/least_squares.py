"""Least squares. What is differentiated is the solution as a function of the matrix, never singular vectors:
those have no derivative where singular values are equal, and the solution has one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from rabbet import dtypes, lax
from rabbet.errors import ShapeError
from rabbet.extend.functions import fused
from rabbet.extend.primitive import Batched, Dual, Primitive, Zero, zero_tangent
from rabbet.extend.rules import at_front, real_dtype
from rabbet.extend.transform import is_tracer, typeof
from rabbet.lax.linalg import matrices
from rabbet.numpy.linalg.arguments import inexact, largest_size, matrix
from rabbet.numpy.products.dots import operands
from rabbet.numpy.reductions.reducing import spread_to
from rabbet.numpy.shapes.joining import concatenate
from rabbet.numpy.shapes.reshaping import array_of

if TYPE_CHECKING:
    from rabbet.extend.primitive import Op, ShapedArray
    from rabbet.typing import Value


def shortest_avals(a: ShapedArray, b: ShapedArray, rcond: ShapedArray) -> tuple[ShapedArray, ...]:
    *batch, m, n = a.shape
    sizes = a.strong().update(shape=(*batch, min(m, n)), dtype=real_dtype(a.dtype))
    rank = sizes.update(shape=tuple(batch), dtype=np.dtype("int32"))
    return a.strong().update(shape=(*batch, n, b.shape[-1])), rank, sizes


shortest_solution = Primitive(
    "shortest_solution", shortest_avals, multiple_results=True,
    doc="the shortest x that makes a x - b small, the rank of a, and its singular values",
)  # fmt: skip


@shortest_solution.decompose
def by_singular_values(op: Op, a: Value, b: Value, rcond: Value) -> list[Value]:
    u, s, vh = lax.linalg.svd(a, full_matrices=False)
    last = s.ndim - 1
    bound = lax.mul(lax.reduce_max(s, (last,)), rcond)
    kept = lax.gt(s, matrices.beside(bound, s.shape, last))
    inverse = lax.select(kept, lax.div(1.0, lax.select(kept, s, lax.full_like(s, 1))), lax.full_like(s, 0))
    turned = matrices.product(matrices.adjoint(u), b)
    scale = matrices.beside(lax.convert_element_type(inverse, a.dtype), turned.shape, last + 1)
    x = matrices.product(matrices.adjoint(vh), lax.mul(turned, scale))
    rank = lax.reduce_sum(lax.convert_element_type(kept, np.dtype("int32")), (last,))
    return [x, rank, s]


@shortest_solution.rule("jvp")
def jvp_shortest_solution(op: Op, a: Dual, b: Dual, rcond: Dual) -> list[Dual]:
    """For matrices whose rank does not change (G. Golub and V. Pereyra, The differentiation of
    pseudo-inverses and nonlinear least squares problems, 1973). With the pseudo-inverse ``p``, the solution
    of the right-hand side 1, ``dx = p (db - da x) + p p^H da^H (b - a x) + (1 - p a) da^H p^H x``.
    """
    product, adjoint = matrices.product, matrices.adjoint
    x, y = a.primal, b.primal
    k = y.shape[-1]
    if type(a.tangent) is Zero:
        out, rank, s = op(x, y, rcond.primal)
        if type(b.tangent) is Zero:
            change = zero_tangent(typeof(out))
        else:
            change = op(x, b.tangent, rcond.primal)[0]
        return [Dual(out, change), *[Dual(y, zero_tangent(typeof(y))) for y in (rank, s)]]
    ones = matrices.identity(x.aval.strong().update(shape=(*x.shape[:-1], x.shape[-2])))
    both, rank, _ = op(x, concatenate([y, ones], -1), rcond.primal)
    out, p = both[..., :k], both[..., k:]
    da, turned = a.tangent, adjoint(a.tangent)
    right = product(da, out)
    right = lax.neg(right) if type(b.tangent) is Zero else lax.sub(b.tangent, right)
    left = product(adjoint(p), product(turned, lax.sub(y, product(x, out))))
    beside = product(turned, product(adjoint(p), out))
    change = product(p, lax.add(right, left))
    change = lax.add(change, lax.sub(beside, product(p, product(x, beside))))
    u, s, vh = lax.linalg.svd(x, full_matrices=False)
    along = matrices.diagonal(product(product(adjoint(u), da), adjoint(vh)))
    along = lax.real(along) if x.dtype.kind == "c" else along
    return [Dual(out, change), Dual(rank, zero_tangent(typeof(rank))), Dual(s, along)]


@shortest_solution.rule("batch")
def batch_shortest_solution(op: Op, a: Any, b: Any, rcond: Any) -> list[Batched]:
    return [Batched(out, 0) for out in op(*at_front(a, b, rcond))]


def lstsq(a: Value, b: Value, rcond: float | None = None, *, numpy_resid: bool = False) -> tuple[Value, ...]:
    """The least-squares solution of ``a x = b``, the shortest if there are many, by singular values.

    Args:
      a: of shape ``(..., m, n)``.
      b: of shape ``(m,)`` or ``(..., m, k)``; the leading dimensions of both are broadcast.
      rcond: singular values that are smaller relative to the largest count as zero: a number, or an array
        that is broadcast to the leading dimensions; None: the machine precision times ``max(m, n)``.
      numpy_resid: return no residuals where ``m <= n`` or where the columns depend on each other, as NumPy
        does. In a compiled function and for more than one matrix only the shapes count.

    Returns:
      ``(x, residuals, rank, s)``: the solution, of shape ``(..., n)`` or ``(..., n, k)``; the squared lengths
      of ``b - a x``, of shape ``(..., k)`` (``k`` is 1 for a vector); int32 of shape ``(...)``; the singular
      values, of shape ``(..., min(m, n))``.

    Derivatives of the solution hold where the rank does not change, also where singular values are equal;
    those of any order, in both modes.

    Example:
      >>> a, b = rnp.array([[1.0, 0.0], [1.0, 1.0], [1.0, 2.0]]), rnp.array([1.0, 3.0, 5.0])
      >>> rnp.linalg.lstsq(a, b)[0]
      Array([1.       , 1.9999996], dtype=float32)
      >>> rnp.linalg.lstsq(rnp.stack([a, 2 * a]), b)[0].shape
      (2, 2)
    """
    x, residuals, rank, s = least_squares(a, b, rcond, numpy_resid=numpy_resid)
    if numpy_resid and not is_tracer(rank) and not rank.ndim and int(rank) < a.shape[1]:
        residuals = lax.full((0,), 0, s.dtype)
    return x, residuals, rank, s


@fused(static=("numpy_resid",))
def least_squares(
    a: Value, b: Value, rcond: Value | None = None, *, numpy_resid: bool = False
) -> tuple[Value, ...]:
    """``lstsq``, whose residuals depend on shapes alone."""
    a, b = operands("lstsq", matrix("lstsq", a), inexact("lstsq", b))
    vector = b.ndim == 1
    m, n = a.shape[-2:]
    if b.ndim == 0 or b.shape[-1 if vector else -2] != m:
        raise ShapeError(
            "lstsq takes a of shape (..., m, n) and b of shape (m,) or (..., m, k), got "
            f"{a.aval.str_short()} and {b.aval.str_short()}"
        )
    if vector:
        b = lax.expand_dims(b, (1,))
    batch = lax.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    a, b = spread_to(a, (*batch, m, n)), spread_to(b, (*batch, m, b.shape[-1]))
    rcond = float(dtypes.finfo(a.dtype).eps) * largest_size(a) if rcond is None else rcond
    # A number that comes through a call may be wider than the matrix.
    rcond = lax.convert_element_type(array_of("lstsq", rcond), real_dtype(a.dtype))
    x, rank, s = shortest_solution(a, b, spread_to(rcond, batch))
    if numpy_resid and m <= n:
        residuals = lax.full((*batch, 0), 0, s.dtype)
    else:
        apart = lax.abs(lax.sub(b, matrices.product(a, x)))
        residuals = lax.reduce_sum(lax.square(apart), (apart.ndim - 2,))
    rank = lax.convert_element_type(rank, dtypes.scalar_dtype(int))
    return lax.squeeze(x, (x.ndim - 1,)) if vector else x, residuals, rank, s


__all__ = ["lstsq"]
