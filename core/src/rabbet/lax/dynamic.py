"""Slices at computed positions.

Positions count from the end where they are negative, as in Python, and are then clamped so that the slice
lies inside the array.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from rabbet import dtypes
from rabbet.errors import ShapeError
from rabbet.lax import shapes
from rabbet.lax.array_types import ArrayLike, ArrayOrTracer
from rabbet.primitives import convert, elementwise, logic
from rabbet.primitives import dynamic as primitives
from rabbet.primitives import dynamic_rules as _dynamic_rules  # noqa: F401 - batching
from rabbet.primitives.checks import axis_in_range
from rabbet.program.dimensions import SymbolicDimension, dimension_of
from rabbet.runtime.fused import fused
from rabbet.trace.interpreter import typeof

if TYPE_CHECKING:
    from rabbet.typing import Value


def _dims(values: Any, what: str) -> tuple:
    try:
        return tuple([dimension_of(v) for v in values])
    except (AttributeError, TypeError):
        raise TypeError(f"{what} must be a sequence of ints, got {values!r}") from None


def starts_of(operand: ArrayLike, start_indices: Any, allow_negative: Any) -> list:
    """Start indices as scalars of one integer dtype, negative ones counted from the end."""
    shape = typeof(operand).shape
    ndim = getattr(start_indices, "ndim", None)
    if ndim is not None:
        if ndim != 1:
            raise ShapeError(
                f"start_indices must be a sequence of scalars or a vector, got "
                f"{typeof(start_indices).str_short()}"
            )
        if isinstance(start_indices, np.ndarray):
            start_indices = [int(i) for i in start_indices]
        else:
            start_indices = [
                shapes.squeeze(s, (0,)) for s in shapes.split(start_indices, (1,) * start_indices.shape[0])
            ]
    starts = list(start_indices)
    if len(starts) != len(shape):
        raise ShapeError(f"{typeof(operand).str_short()} needs {len(shape)} start indices, got {len(starts)}")
    allowed = allow_negative if isinstance(allow_negative, (tuple, list)) else [allow_negative] * len(starts)
    starts = [wrapped(i, n, a) for i, n, a in zip(starts, shape, allowed, strict=True)]
    return in_one_dtype(starts)


def wrapped(index: Any, size: int, allow: bool = True) -> Any:
    """A scalar position counted from the end if it is negative."""
    if isinstance(index, (int, np.integer)):
        index = int(index)
        return index + size if index < 0 and allow else index
    aval = typeof(index)
    if aval.shape:
        raise TypeError(f"start indices are scalars, got {aval.str_short()}")
    if dtypes.kind(aval.dtype) not in "iu":
        raise TypeError(f"start indices are integers, got {aval.str_short()}")
    index = widened(index)
    if typeof(index).kind == "u" or not allow:
        return index
    return logic.select_n(logic.lt(index, 0), index, elementwise.add(index, size_beside(size, index)))


def size_beside(size: Any, index: ArrayLike) -> Any:
    """A dimension's size to be added to a position; a symbolic one in the position's dtype."""
    if not isinstance(size, SymbolicDimension):
        return size
    return convert.convert_element_type(size.__jax_array__(), new_dtype=typeof(index).dtype, weak_type=False)


def widened(index: Any) -> ArrayOrTracer:
    """An integer array of at least 32 bits, so that it can hold the size of any dimension, and strongly
    typed.
    """
    dtype = typeof(index).dtype
    if dtype.itemsize < 4:
        return convert.convert_element_type(index, new_dtype=np.dtype("int32"), weak_type=False)
    return (
        convert.convert_element_type(index, new_dtype=dtype, weak_type=False)
        if typeof(index).weak_type
        else index
    )


def in_one_dtype(starts: Sequence[Any]) -> list:
    """Scalar positions of one dtype; Python ints adopt that of the others, or become int32 (int64 if they are
    large).
    """
    found = {typeof(s).dtype for s in starts if not isinstance(s, int)}
    if not found:
        wide = any(not -(2**31) <= s < 2**31 for s in starts)
        dtype = np.dtype("int64" if wide else "int32")
    else:
        dtype = np.result_type(*found) if len(found) > 1 else found.pop()
        dtype = dtype if dtypes.kind(dtype) in "iu" else np.dtype("int64")
    return [
        dtypes.numpy_scalar(s, dtype)[()] if isinstance(s, int) else convert.to_dtype(s, dtype)
        for s in starts
    ]


@fused(static=("slice_sizes", "allow_negative_indices"))
def _dynamic_slice(
    operand: ArrayLike, start_indices: Any, slice_sizes: Sequence[int],
    allow_negative_indices: bool | Sequence[bool],
) -> ArrayOrTracer:  # fmt: skip
    starts = starts_of(operand, start_indices, allow_negative_indices)
    return primitives.dynamic_slice(operand, *starts, slice_sizes=slice_sizes)


def dynamic_slice(
    operand: ArrayLike, start_indices: Value, slice_sizes: Sequence[int], *,
    allow_negative_indices: bool | Sequence[bool] = True,
) -> Value:  # fmt: skip
    """The box of the sizes ``slice_sizes`` that begins at ``start_indices``.

    Args:
      operand: an array.
      start_indices: one integer scalar per dimension (or a vector of them), clamped so that the box lies
        inside.
      slice_sizes: one int per dimension, none larger than the array's.
      allow_negative_indices: whether negative positions count from the end; a bool, or one per dimension.

    Raises:
      TypeError: if there are too few or too many positions or sizes, or a size does not fit.

    Example:
      >>> rb.jit(lambda x, i: lax.dynamic_slice(x, (i,), (2,)))(rnp.arange(5), 3)
      Array([3, 4], dtype=int32)
    """
    allow = (
        tuple(allow_negative_indices) if isinstance(allow_negative_indices, list) else allow_negative_indices
    )
    starts = start_indices if hasattr(start_indices, "ndim") else tuple(start_indices)
    return _dynamic_slice(operand, starts, _dims(slice_sizes, "slice_sizes"), allow)


@fused(static=("allow_negative_indices",))
def _dynamic_update_slice(
    operand: ArrayLike, update: ArrayLike, start_indices: Any, allow_negative_indices: bool | Sequence[bool],
) -> ArrayOrTracer:  # fmt: skip
    starts = starts_of(operand, start_indices, allow_negative_indices)
    have = typeof(update)
    dtype = typeof(operand).dtype
    if have.dtype != dtype and not have.weak_type:
        raise TypeError(
            f"dynamic_update_slice: the update {have.str_short()} must have the dtype of "
            f"{typeof(operand).str_short()}; "
            f"convert one of them with astype"
        )
    return primitives.dynamic_update_slice(operand, convert.to_dtype(update, dtype), *starts)


def dynamic_update_slice(
    operand: ArrayLike, update: ArrayLike, start_indices: Value, *,
    allow_negative_indices: bool | Sequence[bool] = True,
) -> Value:  # fmt: skip
    """``operand`` with the box of the shape of ``update`` that begins at ``start_indices`` replaced by it.

    Positions are as in ``dynamic_slice``.

    Raises:
      TypeError: if dtypes differ, or the update has another rank or a larger size than ``operand``.

    Example:
      >>> lax.dynamic_update_slice(rnp.zeros(5), rnp.ones(2), (2,))
      Array([0., 0., 1., 1., 0.], dtype=float32)
    """
    allow = (
        tuple(allow_negative_indices) if isinstance(allow_negative_indices, list) else allow_negative_indices
    )
    starts = start_indices if hasattr(start_indices, "ndim") else tuple(start_indices)
    return _dynamic_update_slice(operand, update, starts, allow)


def _along(operand: ArrayLike, axis: int, index: Any, name: str) -> tuple:
    """(axis, positions: ``index`` along that axis and 0 along the others)."""
    ndim = typeof(operand).ndim
    axis = axis_in_range(name, operator.index(axis), ndim)
    return axis, tuple([index if d == axis else 0 for d in range(ndim)])


def dynamic_slice_in_dim(
    operand: ArrayLike, start_index: ArrayLike, slice_size: int, axis: int = 0, *,
    allow_negative_indices: bool | Sequence[bool] = True,
) -> Value:  # fmt: skip
    """``slice_size`` elements along ``axis`` from ``start_index`` on; all of the other dimensions.

    Example:
      >>> lax.dynamic_slice_in_dim(rnp.arange(5), 1, 3)
      Array([1, 2, 3], dtype=int32)
    """
    axis, starts = _along(operand, axis, start_index, "dynamic_slice_in_dim")
    sizes = [slice_size if d == axis else n for d, n in enumerate(typeof(operand).shape)]
    return dynamic_slice(operand, starts, sizes, allow_negative_indices=allow_negative_indices)


@fused(static=("axis", "keepdims", "allow_negative_indices"))
def dynamic_index_in_dim(
    operand: ArrayLike, index: Value, axis: int = 0, keepdims: bool = True, *,
    allow_negative_indices: bool | Sequence[bool] = True,
) -> Value:  # fmt: skip
    """The slice at ``index`` along ``axis``, with that dimension of size 1, or without it where ``keepdims``
    is False.

    Example:
      >>> lax.dynamic_index_in_dim(rnp.arange(6).reshape(3, 2), 1, keepdims=False)
      Array([2, 3], dtype=int32)
    """
    out = dynamic_slice_in_dim(operand, index, 1, axis, allow_negative_indices=allow_negative_indices)
    return out if keepdims else shapes.squeeze(out, (axis,))


def dynamic_update_slice_in_dim(
    operand: ArrayLike, update: ArrayLike, start_index: ArrayLike, axis: int, *,
    allow_negative_indices: bool | Sequence[bool] = True,
) -> Value:  # fmt: skip
    """``operand`` with what begins at ``start_index`` along ``axis`` replaced by ``update``.

    Example:
      >>> lax.dynamic_update_slice_in_dim(rnp.zeros(5), rnp.ones(2), 2, 0)
      Array([0., 0., 1., 1., 0.], dtype=float32)
    """
    _, starts = _along(operand, axis, start_index, "dynamic_update_slice_in_dim")
    return dynamic_update_slice(operand, update, starts, allow_negative_indices=allow_negative_indices)


@fused(static=("axis", "allow_negative_indices"))
def dynamic_update_index_in_dim(
    operand: ArrayLike, update: ArrayLike, index: Value, axis: int, *,
    allow_negative_indices: bool | Sequence[bool] = True,
) -> Value:  # fmt: skip
    """``operand`` with the slice at ``index`` along ``axis`` replaced by ``update``, which may lack that
    dimension.

    Example:
      >>> lax.dynamic_update_index_in_dim(rnp.zeros(3), 5.0, 1, 0)
      Array([0., 5., 0.], dtype=float32)
    """
    axis = axis_in_range("dynamic_update_index_in_dim", axis, typeof(operand).ndim)
    if typeof(update).ndim != typeof(operand).ndim:
        update = shapes.expand_dims(update, (axis,))
    return dynamic_update_slice_in_dim(
        operand, update, index, axis, allow_negative_indices=allow_negative_indices
    )


def index_in_dim(operand: ArrayLike, index: Value, axis: int = 0, keepdims: bool = True) -> Value:
    """The slice at the static ``index`` along ``axis``, with that dimension of size 1, or without it.

    Raises:
      IndexError: if ``index`` is out of range.

    Example:
      >>> lax.index_in_dim(rnp.arange(6).reshape(3, 2), 1, keepdims=False)
      Array([2, 3], dtype=int32)
    """
    shape = typeof(operand).shape
    axis = axis_in_range("index_in_dim", axis, len(shape))
    index, size = operator.index(index), shape[axis]
    if not -size <= index < size:
        raise IndexError(f"index_in_dim: index {index} is out of range for axis {axis} of size {size}")
    out = shapes.slice_in_dim(operand, index % size, index % size + 1, axis=axis)
    return out if keepdims else shapes.squeeze(out, (axis,))


__all__ = [
    "dynamic_index_in_dim", "dynamic_slice", "dynamic_slice_in_dim", "dynamic_update_index_in_dim",
    "dynamic_update_slice",
    "dynamic_update_slice_in_dim", "index_in_dim",
]  # fmt: skip
