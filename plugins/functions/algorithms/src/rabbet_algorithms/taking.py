"""``index_take``: slices at the positions that several index arrays give together."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING

from rabbet import dtypes, lax
from rabbet.errors import ShapeError
from rabbet.extend.transform import typeof

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rabbet.typing import Value


def index_take(src: Value, idxs: Value, axes: Sequence[int]) -> Value:
    """``src[..., idxs[0][i], ..., idxs[1][i], ...]`` for each ``i``, stacked along a new first dimension.

    Args:
      src: an array.
      idxs: arrays of integers of one shape ``(n,)``, one per axis; each counts round and round its axis.
      axes: the dimensions of ``src`` that they index.

    Returns:
      an array of shape ``(n, *other dimensions of src)``.

    Raises:
      TypeError: if the index arrays are not integers of one dimension, as many as axes.

    Example:
      >>> lax.index_take(rnp.arange(6).reshape(3, 2), (rnp.array([2, 0]),), (0,))
      Array([[4, 5],
             [0, 1]], dtype=int32)
    """
    aval = typeof(src)
    axes = tuple([operator.index(axis) for axis in axes])
    if len(set(axes)) != len(axes) or not all(0 <= axis < aval.ndim for axis in axes):
        raise ShapeError(
            f"index_take: axes {axes} must be different ones of an array of {aval.ndim} dimensions, from 0 on"
        )
    given = [typeof(i) for i in idxs]
    if (
        not axes
        or len(given) != len(axes)
        or any(a.ndim != 1 or a.shape != given[0].shape or dtypes.kind(a.dtype) not in "iu" for a in given)
    ):
        shown = ", ".join([a.str_short() for a in given])
        raise ShapeError(
            f"index_take needs an array of integers of one length for each of the axes {axes}, got {shown}"
        )
    sizes = [aval.shape[axis] for axis in axes]
    columns = [lax.expand_dims(around(i, size), (1,)) for i, size in zip(idxs, sizes, strict=True)]
    numbers = lax.GatherDimensionNumbers(
        offset_dims=tuple(range(1, aval.ndim - len(axes) + 1)), collapsed_slice_dims=axes,
        start_index_map=axes,
    )  # fmt: skip
    window = [1 if d in axes else size for d, size in enumerate(aval.shape)]
    return lax.gather(src, lax.concatenate(columns, 1), numbers, window, mode="promise_in_bounds")


def around(i, size):
    """Integers ``i`` modulo ``size``, from 0 on."""
    left = lax.rem(i, lax.full_like(i, size))
    return lax.select(lax.lt(left, lax.full_like(left, 0)), lax.add(left, lax.full_like(left, size)), left)


__all__ = ["index_take"]
