"""Determinants, by LU factors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from rabbet import Array, lax
from rabbet.extend.functions import fused
from rabbet.numpy.linalg.arguments import one_of, square
from rabbet.numpy.support.arguments import weak_by

if TYPE_CHECKING:
    from rabbet.typing import Value


class SlogdetResult(NamedTuple):
    """What ``slogdet`` returns."""

    sign: Array
    logabsdet: Array


def factored(a: Value) -> tuple[Value, ...]:
    """The diagonal of the upper factor, and the sign that the row swaps bring; both of ``a``'s dtype."""
    factors, pivots, _ = lax.linalg.lu(a)
    places = lax.broadcasted_iota("int32", pivots.shape, pivots.ndim - 1)
    swaps = lax.convert_element_type(lax.ne(pivots, places), "int32")
    odd = lax.rem(lax.reduce_sum(swaps, (swaps.ndim - 1,)), 2)
    sign = lax.convert_element_type(lax.sub(1, lax.mul(2, odd)), a.dtype)
    # Gathered, the checked factors are never written: a masked sum over rows keeps all of them.
    place = lax.iota("int32", a.shape[-1])
    return factors[..., place, place], sign


@fused
@weak_by(1)
def det(a: Value) -> Value:
    """The determinant of square matrices of shape ``(..., n, n)``; of shape ``(...)``.

    Derivatives of matrices larger than 3 times 3 are computed from the LU factors and need an inverse.

    Example:
      >>> rnp.linalg.det(rnp.array([[2.0, 0.0], [1.0, 3.0]]))
      Array(6., dtype=float32)
    """
    a = square("det", a)
    n = a.shape[-1]
    if n <= 3:
        return by_formula(a, n)
    diagonal, sign = factored(a)
    return lax.mul(sign, lax.reduce_prod(diagonal, (diagonal.ndim - 1,)))


def by_formula(a: Any, n: Any) -> Any:
    """The sum of products, for up to three rows."""
    if n == 0:
        return lax.full(a.shape[:-2], 1, a.dtype)
    if n == 1:
        return a[..., 0, 0]
    first = a[..., 0, :]
    if n == 2:
        return lax.sub(lax.mul(first[..., 0], a[..., 1, 1]), lax.mul(first[..., 1], a[..., 1, 0]))

    def minor(i: Any, j: Any) -> Any:
        return lax.sub(lax.mul(a[..., 1, i], a[..., 2, j]), lax.mul(a[..., 1, j], a[..., 2, i]))

    out = lax.sub(lax.mul(first[..., 0], minor(1, 2)), lax.mul(first[..., 1], minor(0, 2)))
    return lax.add(out, lax.mul(first[..., 2], minor(0, 1)))


@fused(static=("method",))
@weak_by(1)
def slogdet(a: Value, *, method: str | None = None) -> SlogdetResult:
    """The sign of the determinant (of complex matrices a number of length 1) and the logarithm of its size.

    Args:
      a: of shape ``(..., n, n)``.
      method: None, ``"lu"`` or ``"qr"``; all give one result.

    Returns:
      ``(sign, logabsdet)`` of shape ``(...)``; for a singular matrix 0 and ``-inf``.

    Example:
      >>> sign, log = rnp.linalg.slogdet(rnp.array([[0.0, 2.0], [1.0, 0.0]]))
      >>> sign, log
      (Array(-1., dtype=float32), Array(0.6931472, dtype=float32))
    """
    a = square("slogdet", a)
    one_of("slogdet", "method", method, (None, "lu", "qr"))
    diagonal, sign = factored(a)
    last = (diagonal.ndim - 1,)
    sign = lax.mul(sign, lax.reduce_prod(lax.sign(diagonal), last))
    return SlogdetResult(sign, lax.reduce_sum(lax.log(lax.abs(diagonal)), last))


__all__ = ["det", "slogdet"]
