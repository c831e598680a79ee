"""Running reductions along an axis."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING

from rabbet import Array
from rabbet.extend.rules import axis_in_range
from rabbet.extend.transform import typeof

from rabbet_algorithms import primitives

if TYPE_CHECKING:
    from rabbet.typing import Value


def _along(primitive, operand, axis, reverse):
    axis = axis_in_range(primitive.name, operator.index(axis), typeof(operand).ndim)
    return primitive(operand, axis=axis, reverse=bool(reverse))


def cumsum(operand: Value, axis: int = 0, reverse: bool = False) -> Array:
    """The sum of the elements up to each one along ``axis``; ``reverse``: from each one to the last.

    Example:
      >>> lax.cumsum(rnp.array([1, 2, 3]), reverse=True)
      Array([6, 5, 3], dtype=int32)
    """
    return _along(primitives.cumsum, operand, axis, reverse)


def cumprod(operand: Value, axis: int = 0, reverse: bool = False) -> Array:
    """The product of the elements up to each one along ``axis``; ``reverse``: from each one to the last.

    Example:
      >>> lax.cumprod(rnp.array([1, 2, 3]))
      Array([1, 2, 6], dtype=int32)
    """
    return _along(primitives.cumprod, operand, axis, reverse)


def cummax(operand: Value, axis: int = 0, reverse: bool = False) -> Array:
    """The largest of the elements up to each one along ``axis``; ``reverse``: from each one to the last.
    Of equal elements the nearest one gets the derivative.

    Example:
      >>> lax.cummax(rnp.array([1, 3, 2]))
      Array([1, 3, 3], dtype=int32)
    """
    return _along(primitives.cummax, operand, axis, reverse)


def cummin(operand: Value, axis: int = 0, reverse: bool = False) -> Array:
    """The smallest of the elements up to each one along ``axis``; ``reverse``: from each one to the last.
    Of equal elements the nearest one gets the derivative.

    Example:
      >>> lax.cummin(rnp.array([3, 1, 2]))
      Array([3, 1, 1], dtype=int32)
    """
    return _along(primitives.cummin, operand, axis, reverse)


def cumlogsumexp(operand: Value, axis: int = 0, reverse: bool = False) -> Array:
    """``log(sum(exp(...)))`` of the elements up to each one; ``reverse``: from each one to the last.

    Example:
      >>> lax.cumlogsumexp(rnp.zeros(3))
      Array([0.       , 0.6931472, 1.0986123], dtype=float32)
    """
    return _along(primitives.cumlogsumexp, operand, axis, reverse)


__all__ = ["cumlogsumexp", "cummax", "cummin", "cumprod", "cumsum"]
