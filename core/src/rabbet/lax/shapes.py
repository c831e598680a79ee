"""Moving the elements of arrays about."""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from rabbet.errors import ShapeError
from rabbet.lax.array_types import ArrayLike
from rabbet.lax.broadcasting import broadcast_in_dim, sizes_of
from rabbet.primitives import shape as _shape
from rabbet.primitives.checks import axis_in_range
from rabbet.primitives.zeros import padding
from rabbet.program import dimensions, python_scalars
from rabbet.runtime.arrays.values import to_array
from rabbet.runtime.transfer import hidden, obey_sharding
from rabbet.trace.interpreter import typeof

if TYPE_CHECKING:
    from rabbet.typing import Value


def as_it_is(x: ArrayLike) -> Value:
    """``x``, of which nothing is moved; what is NumPy's as an array that its owner does not write to."""
    return to_array(x) if isinstance(x, (np.ndarray, np.generic)) else x  # type: ignore[return-value]


def reshape(
    operand: ArrayLike, new_sizes: Any, dimensions: Sequence[int] | None = None, *, out_sharding: Any = None,
) -> Value:  # fmt: skip
    """The elements of ``operand`` in row-major order (after transposing to ``dimensions``, if given) as
    ``new_sizes``.

    Example:
      >>> lax.reshape(rnp.arange(6), (2, 3))
      Array([[0, 1, 2],
             [3, 4, 5]], dtype=int32)
    """
    if out_sharding is not None:
        return obey_sharding("reshape", reshape(hidden(operand), new_sizes, dimensions), out_sharding)
    sizes = sizes_of(new_sizes, "new_sizes")
    if dimensions is not None:
        operand = transpose(operand, dimensions)
    if typeof(operand).shape == sizes:
        return as_it_is(operand)
    return _shape.reshape(operand, new_sizes=sizes)


def collapse(operand: ArrayLike, start_dimension: int, stop_dimension: int | None = None) -> Value:
    """``operand`` with the dimensions from ``start_dimension`` up to ``stop_dimension`` made one.

    Example:
      >>> lax.collapse(rnp.ones((2, 3, 4)), 0, 2).shape
      (6, 4)
    """
    shape = typeof(operand).shape
    lo, hi, _ = builtins.slice(start_dimension, stop_dimension).indices(len(shape))
    return reshape(operand, (*shape[:lo], prod(shape[lo:hi]), *shape[hi:]))


def expand_dims(array: ArrayLike, dimensions: Sequence[int]) -> Value:
    """``array`` with new dimensions of size 1, so that they are at ``dimensions`` in the result.

    Example:
      >>> lax.expand_dims(rnp.arange(3), (0, 2)).shape
      (1, 3, 1)
    """
    dims = sizes_of(dimensions, "dimensions")
    rank = typeof(array).ndim + len(dims)
    dims = tuple(sorted(axis_in_range("expand_dims", d, rank) for d in dims))
    return _shape.expand_dims(array, dimensions=dims) if dims else as_it_is(array)


def squeeze(array: ArrayLike, dimensions: Sequence[int]) -> Value:
    """``array`` without the given dimensions, all of size 1.

    Example:
      >>> lax.squeeze(rnp.ones((1, 3, 1)), (0,)).shape
      (3, 1)
    """
    aval = typeof(array)
    dims = tuple(sorted(axis_in_range("squeeze", d, aval.ndim) for d in sizes_of(dimensions, "dimensions")))
    return _shape.squeeze(array, dimensions=dims) if dims else as_it_is(array)


def transpose(operand: ArrayLike, permutation: Sequence[int]) -> Value:
    """``operand`` with its dimensions permuted: dimension i of the result is ``permutation[i]`` of the
    operand.

    Example:
      >>> lax.transpose(rnp.ones((2, 3, 4)), (2, 0, 1)).shape
      (4, 2, 3)
    """
    order = sizes_of(permutation, "permutation")
    if order == tuple(range(typeof(operand).ndim)):
        return as_it_is(operand)
    return _shape.transpose(operand, permutation=order)


def rev(operand: ArrayLike, dimensions: Sequence[int]) -> Value:
    """``operand`` with the order of elements reversed along ``dimensions``.

    Example:
      >>> lax.rev(rnp.arange(3), (0,))
      Array([2, 1, 0], dtype=int32)
    """
    return _shape.rev(operand, dimensions=sizes_of(dimensions, "dimensions"))


def slice(
    operand: ArrayLike, start_indices: Sequence[int], limit_indices: Sequence[int],
    strides: Sequence[int] | None = None,
) -> Value:  # fmt: skip
    """The box ``start_indices <= i < limit_indices``, every ``strides``-th element.

    Example:
      >>> lax.slice(rnp.arange(6), (1,), (6,), (2,))
      Array([1, 3, 5], dtype=int32)
    """
    lo, hi = sizes_of(start_indices, "start_indices"), sizes_of(limit_indices, "limit_indices")
    steps = None if strides is None else sizes_of(strides, "strides")
    if steps is not None and len(steps) == len(lo) and all(s == 1 for s in steps):
        steps = None
    if not any(lo) and steps is None and hi == typeof(operand).shape:
        return as_it_is(operand)
    return _shape.slice(operand, start_indices=lo, limit_indices=hi, strides=steps)


def _bounds(start: Any, limit: Any, size: Any) -> tuple[Any, Any]:
    """The bounds of a slice of a dimension, counted from its start."""
    if dimensions.is_symbolic((start, limit, size)):
        first, count, _ = dimensions.reach_of(builtins.slice(start, limit), size)
        return first, first + count
    lo, hi, _ = builtins.slice(start, limit).indices(size)
    return lo, max(lo, hi)


def slice_in_dim(
    operand: ArrayLike, start_index: int | None, limit_index: int | None, stride: int = 1, axis: int = 0,
) -> Value:  # fmt: skip
    """``slice`` along one axis; negative and missing bounds count as in Python.

    Example:
      >>> lax.slice_in_dim(rnp.arange(6), 1, 4)
      Array([1, 2, 3], dtype=int32)
    """
    shape = typeof(operand).shape
    axis = axis_in_range("slice_in_dim", axis, len(shape))
    lo, hi = _bounds(start_index, limit_index, shape[axis])
    starts, limits, strides = [0] * len(shape), list(shape), [1] * len(shape)
    starts[axis], limits[axis], strides[axis] = lo, hi, stride
    return slice(operand, starts, limits, strides)


def split(operand: ArrayLike, sizes: Sequence[int], axis: int = 0) -> list[Value]:
    """``operand`` cut along ``axis`` into pieces of the given sizes; a list.

    Example:
      >>> [x.tolist() for x in lax.split(rnp.arange(5), (2, 3))]
      [[0, 1], [2, 3, 4]]
    """
    sizes = sizes_of(sizes, "sizes")
    shape = typeof(operand).shape
    axis = axis_in_range("split", axis, len(shape))
    if any(isinstance(size, int) and size < 0 for size in sizes):
        raise ShapeError(f"split: the sizes {sizes} must be nonnegative")
    if sum(sizes) != shape[axis]:
        raise ShapeError(
            f"split: the sizes {sizes} add up to {sum(sizes)}, the axis has {shape[axis]} elements"
        )
    pieces, at = [], 0
    for size in sizes:
        pieces.append(slice_in_dim(operand, at, at + size, axis=axis))
        at += size
    return pieces


def concatenate(operands: Sequence[ArrayLike], dimension: int) -> Value:
    """Arrays joined along ``dimension``; all other dimensions must agree.

    Example:
      >>> lax.concatenate([rnp.arange(2), rnp.arange(3)], 0)
      Array([0, 1, 0, 1, 2], dtype=int32)
    """
    operands = list(operands)
    if not operands:
        raise ShapeError("concatenate needs at least one array, got an empty sequence")
    axis = axis_in_range("concatenate", dimension, typeof(operands[0]).ndim)
    if len(operands) == 1 and hasattr(operands[0], "aval"):
        return operands[0]
    return _shape.concatenate(*operands, dimension=axis)


def stack(operands: Sequence[ArrayLike], axis: int = 0) -> Value:
    """Arrays of one shape joined along a new dimension.

    Example:
      >>> lax.stack([rnp.arange(2), rnp.arange(2)], 1)
      Array([[0, 0],
             [1, 1]], dtype=int32)
    """
    arrays = list(operands)
    if not arrays:
        raise ShapeError("stack needs at least one array, got an empty sequence")
    axis = axis_in_range("stack", axis, typeof(arrays[0]).ndim + 1)
    return concatenate([expand_dims(a, (axis,)) for a in arrays], axis)


def unstack(x: ArrayLike, axis: int = 0) -> list[Value]:
    """The slices of ``x`` along ``axis``, without that dimension; a list.

    Example:
      >>> lax.unstack(rnp.array([[1, 2], [3, 4]]))
      [Array([1, 2], dtype=int32), Array([3, 4], dtype=int32)]
    """
    shape = typeof(x).shape
    axis = axis_in_range("unstack", axis, len(shape))
    return [squeeze(slice_in_dim(x, i, i + 1, axis=axis), (axis,)) for i in range(shape[axis])]


def tile(operand: ArrayLike, reps: Sequence[int]) -> Value:
    """``operand`` repeated ``reps[i]`` times along dimension i.

    Example:
      >>> lax.tile(rnp.arange(2), (3,))
      Array([0, 1, 0, 1, 0, 1], dtype=int32)
    """
    reps = sizes_of(reps, "reps")
    shape = typeof(operand).shape
    if len(reps) != len(shape):
        raise ShapeError(f"tile: {typeof(operand).str_short()} needs {len(shape)} counts, got {reps}")
    spread = tuple(n for pair in zip(reps, shape, strict=True) for n in pair)
    dims = tuple(range(1, 2 * len(shape), 2))
    return reshape(
        broadcast_in_dim(operand, spread, dims), tuple(r * n for r, n in zip(reps, shape, strict=True))
    )


def pad(
    operand: ArrayLike, padding_value: ArrayLike, padding_config: Sequence[Sequence[int]],
) -> Value:  # fmt: skip
    """``operand`` padded by ``(low, high, interior)`` per dimension; negative low and high cut elements
    off.

    Example:
      >>> lax.pad(rnp.arange(3), 9, [(1, 2, 1)])
      Array([9, 0, 9, 1, 9, 2, 9, 9], dtype=int32)
    """
    config = tuple([sizes_of(triple, "padding_config") for triple in padding_config])
    aval = typeof(operand)
    if isinstance(padding_value, (bool, int, float, complex)):
        padding_value = python_scalars.filling(padding_value, aval.dtype)
    if aval.spread is not None and aval.spread.unreduced and isinstance(padding_value, np.generic):
        padding_value = padding_value if padding_value else padding(operand)
    return _shape.pad(operand, padding_value, padding_config=config)


__all__ = [
    "collapse",
    "concatenate",
    "expand_dims",
    "pad",
    "reshape",
    "rev",
    "slice",
    "slice_in_dim",
    "split",
    "squeeze",
    "stack",
    "tile",
    "transpose",
    "unstack",
]
