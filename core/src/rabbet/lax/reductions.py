"""Reductions over axes and the positions of extremes."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from rabbet import dtypes
from rabbet.lax.array_types import ArrayLike, ArrayOrTracer, DTypeLike
from rabbet.primitives import argmax_argmin as _places
from rabbet.primitives import reductions as _reductions
from rabbet.primitives.checks import axis_in_range
from rabbet.rules.primitive import Primitive
from rabbet.runtime.transfer import obey_sharding
from rabbet.trace.interpreter import typeof

if TYPE_CHECKING:
    from rabbet.typing import Value


def _over(primitive: Primitive, operand: ArrayLike, axes: Sequence[int]) -> ArrayOrTracer:
    ndim = typeof(operand).ndim
    axes = tuple([axis_in_range(primitive.name, operator.index(axis), ndim) for axis in axes])
    return primitive(operand, axes=axes)


def reduce_sum(operand: ArrayLike, axes: Sequence[int], *, out_sharding: Any = None) -> Value:
    """The sum of the elements over ``axes``, in the operand's dtype.

    Example:
      >>> lax.reduce_sum(rnp.array([[1, 5], [7, 3]]), (0, 1))
      Array(16, dtype=int32)
    """
    return obey_sharding("reduce_sum", _over(_reductions.reduce_sum, operand, axes), out_sharding)


def reduce_prod(operand: ArrayLike, axes: Sequence[int]) -> Value:
    """The product of the elements over ``axes``, in the operand's dtype.

    Example:
      >>> lax.reduce_prod(rnp.array([[1, 5], [7, 3]]), (1,))
      Array([ 5, 21], dtype=int32)
    """
    return _over(_reductions.reduce_prod, operand, axes)


def reduce_max(operand: ArrayLike, axes: Sequence[int], *, out_sharding: Any = None) -> Value:
    """The largest element over ``axes``, NaN if there is one; of none, the least value of the dtype.

    Example:
      >>> lax.reduce_max(rnp.array([[1, 5], [7, 3]]), (1,))
      Array([5, 7], dtype=int32)
    """
    return obey_sharding("reduce_max", _over(_reductions.reduce_max, operand, axes), out_sharding)


def reduce_min(operand: ArrayLike, axes: Sequence[int], *, out_sharding: Any = None) -> Value:
    """The smallest element over ``axes``, NaN if there is one; of none, the largest value of the dtype.

    Example:
      >>> lax.reduce_min(rnp.array([[1, 5], [7, 3]]), (1,))
      Array([1, 3], dtype=int32)
    """
    return obey_sharding("reduce_min", _over(_reductions.reduce_min, operand, axes), out_sharding)


def reduce_and(operand: ArrayLike, axes: Sequence[int]) -> Value:
    """Bitwise (on booleans, logical) and of the elements over ``axes``.

    Example:
      >>> lax.reduce_and(rnp.array([True, False]), (0,))
      Array(False, dtype=bool)
    """
    return _over(_reductions.reduce_and, operand, axes)


def reduce_or(operand: ArrayLike, axes: Sequence[int]) -> Value:
    """Bitwise (on booleans, logical) or of the elements over ``axes``.

    Example:
      >>> lax.reduce_or(rnp.array([True, False]), (0,))
      Array(True, dtype=bool)
    """
    return _over(_reductions.reduce_or, operand, axes)


def reduce_xor(operand: ArrayLike, axes: Sequence[int]) -> Value:
    """Bitwise (on booleans, logical) exclusive or of the elements over ``axes``.

    Example:
      >>> lax.reduce_xor(rnp.array([True, True]), (0,))
      Array(False, dtype=bool)
    """
    return _over(_reductions.reduce_xor, operand, axes)


def argmax(operand: ArrayLike, axis: int, index_dtype: DTypeLike = np.int32) -> Value:
    """The position of the first largest element along ``axis``; of the first NaN if there is one.

    Example:
      >>> lax.argmax(rnp.array([3, 1, 4]), 0, "int32")
      Array(2, dtype=int32)
    """
    return _position(_places.argmax, operand, axis, index_dtype)


def argmin(operand: ArrayLike, axis: int, index_dtype: DTypeLike = np.int32) -> Value:
    """The position of the first smallest element along ``axis``; of the first NaN if there is one.

    Example:
      >>> lax.argmin(rnp.array([3, 1, 4]), 0, "int32")
      Array(1, dtype=int32)
    """
    return _position(_places.argmin, operand, axis, index_dtype)


def _position(primitive: Primitive, operand: ArrayLike, axis: int, index_dtype: DTypeLike) -> ArrayOrTracer:
    axis = axis_in_range(primitive.name, operator.index(axis), typeof(operand).ndim)
    return primitive(operand, axes=(axis,), index_dtype=dtypes.requested(index_dtype))


__all__ = [
    "argmax", "argmin", "reduce_and", "reduce_max", "reduce_min", "reduce_or", "reduce_prod", "reduce_sum",
    "reduce_xor",
]  # fmt: skip
