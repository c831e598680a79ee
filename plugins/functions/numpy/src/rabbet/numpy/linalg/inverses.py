"""The pseudo-inverse, a primitive with a derivative of its own: that of singular vectors does not exist where
singular values are equal, and this one does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rabbet import dtypes, lax
from rabbet.extend.functions import fused
from rabbet.extend.primitive import Batched, Dual, Primitive, move_axis
from rabbet.lax.linalg import matrices
from rabbet.numpy.linalg.arguments import largest_size, matrix

if TYPE_CHECKING:
    from rabbet.extend.primitive import Op, ShapedArray
    from rabbet.typing import Value


def pseudo_inverse_aval(a: ShapedArray, rtol: float, hermitian: bool) -> ShapedArray:
    return a.update(shape=(*a.shape[:-2], a.shape[-1], a.shape[-2])).strong()


pseudo_inverse = Primitive(
    "pseudo_inverse", pseudo_inverse_aval, doc="the inverse on what a does not map to zero"
)


@pseudo_inverse.decompose
def by_singular_values(op: Op, a: Value) -> Value:
    from rabbet.numpy.linalg.decompositions import svd

    u, s, vh = svd(a, full_matrices=False, hermitian=op.params["hermitian"])
    if not s.size:
        return lax.full(op.out((a.aval,)).shape, 0, a.dtype)
    largest = matrices.beside(lax.reduce_max(s, (s.ndim - 1,)), s.shape, s.ndim - 1)
    kept = lax.gt(s, lax.mul(largest, op.params["rtol"]))
    inverse = lax.select(kept, lax.div(1.0, lax.select(kept, s, lax.full_like(s, 1))), lax.full_like(s, 0))
    v = matrices.adjoint(vh)
    scale = matrices.beside(lax.convert_element_type(inverse, a.dtype), v.shape, v.ndim - 2)
    return matrices.product(lax.mul(v, scale), matrices.adjoint(u))


@pseudo_inverse.rule("jvp")
def jvp_pseudo_inverse(op: Op, a: Dual) -> Dual:
    """For matrices whose rank does not change (G. Golub and V. Pereyra, The differentiation of
    pseudo-inverses and nonlinear least squares problems, 1973).
    """
    x, da = a.primal, a.tangent
    p = op(x)
    product, adjoint = matrices.product, matrices.adjoint
    along = product(product(p, da), p)
    q, change = adjoint(p), adjoint(da)
    left = product(product(p, q), change)
    left = lax.sub(left, product(product(left, x), p))
    right = product(product(change, q), p)
    right = lax.sub(right, product(p, product(x, right)))
    return Dual(p, lax.add(lax.sub(left, along), right))


@pseudo_inverse.rule("batch")
def batch_pseudo_inverse(op: Op, a: Any) -> Any:
    return Batched(op(move_axis(a.value, a.axis, 0)), 0)


@fused(static=("rtol", "hermitian", "rcond"))
def pinv(
    a: Value, rtol: Value | None = None, hermitian: bool = False, *, rcond: Value | None = None
) -> Value:
    """The pseudo-inverse of matrices, by singular values.

    Args:
      a: of shape ``(..., m, n)``.
      rtol: a number: singular values that are smaller relative to the largest count as zero; None: ten times
        the machine precision times ``max(m, n)``.
      hermitian: ``a`` is Hermitian, which is faster.
      rcond: another name of ``rtol``.

    Returns:
      of shape ``(..., n, m)``. Derivatives hold where the rank does not change.

    Example:
      >>> rnp.linalg.pinv(rnp.array([[2.0], [0.0]]))
      Array([[0.5, 0. ]], dtype=float32)
    """
    a = matrix("pinv", a)
    if rtol is not None and rcond is not None:
        raise ValueError("pinv takes rtol or rcond, which is another name of it, not both")
    rtol = rcond if rtol is None else rtol
    if rtol is None:
        rtol = 10.0 * largest_size(a) * float(dtypes.finfo(a.dtype).eps)
    return pseudo_inverse(a, rtol=float(rtol), hermitian=bool(hermitian))


__all__ = ["pinv"]
