"""Arrays of different lengths as one array with a mask, and back."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

import rabbet.numpy as rnp
from rabbet import Array, dtypes
from rabbet.errors import ConcretizationTypeError, ShapeError
from rabbet.extend.functions import is_array_like
from rabbet.extend.transform import is_tracer

if TYPE_CHECKING:
    from rabbet.typing import Value


def pad_ragged(
    arrays: Any, length: int | Sequence[int] | None = None, fill_value: Value = 0
) -> tuple[Array, Array]:
    """A stack of arrays that differ in their first dimension, each filled up behind, and what counts in it.

    Args:
      arrays: a list of arrays of shapes ``(l, ...)``, alike but for ``l``.
      length: how long all become: an int, or several of which the smallest that is long enough is taken, so
        that a compiled function sees few shapes; None: as long as the longest.
      fill_value: what they are filled up with.

    Returns:
      ``(stack, mask)``: of shape ``(len(arrays), length, ...)`` in the common dtype of the arrays; bool of
      shape ``(len(arrays), length)``, True where ``stack`` holds what was given. ``rnp.sum(stack, 1,
      where=mask)``, ``rnp.mean``, ``rnp.max`` and ``nn.softmax`` take such a mask (with dimensions behind it
      if there are more), ``vmap`` maps a function of one row and its mask.

    Raises:
      TypeError: for what are not arrays.
      ValueError: for no arrays, other shapes, or a ``length`` that is too small.

    Example:
      >>> stack, mask = pad_ragged([rnp.array([1.0, 2.0, 3.0]), rnp.array([4.0])])
      >>> stack
      Array([[1., 2., 3.],
             [4., 0., 0.]], dtype=float32)
      >>> rnp.mean(stack, 1, where=mask)
      Array([2., 4.], dtype=float32)
    """
    if is_array_like(arrays) or not isinstance(arrays, Sequence):
        raise TypeError(f"pad_ragged takes a list of arrays, got a {type(arrays).__name__}")
    if not arrays:
        raise ValueError("pad_ragged takes at least one array, got an empty list")
    for i, x in enumerate(arrays):
        if not is_array_like(x) or not rnp.ndim(x):
            raise TypeError(f"pad_ragged takes arrays with a dimension; number {i} is {type(x).__name__}")
        if rnp.shape(x)[1:] != rnp.shape(arrays[0])[1:]:
            raise ShapeError(
                f"pad_ragged takes arrays that differ in their first dimension alone; number 0 has the shape "
                f"{rnp.shape(arrays[0])} and number {i} {rnp.shape(x)}"
            )
    lengths = [rnp.shape(x)[0] for x in arrays]
    size = chosen(max(lengths), length)
    dtype = dtypes.result_type(*arrays)
    rest = rnp.shape(arrays[0])[1:]
    rows = []
    for x, count in zip(arrays, lengths, strict=True):
        row = rnp.asarray(x, dtype)
        more = rnp.full((size - count, *rest), fill_value, dtype)
        rows.append(rnp.concatenate([row, more]) if size > count else row)
    mask = np.arange(size) < np.array(lengths)[:, None]
    return rnp.stack(rows), rnp.asarray(mask)


def chosen(longest, length):
    """The length for all."""
    if length is None:
        return longest
    try:
        sizes = [operator.index(length)]
    except TypeError:
        sizes = [operator.index(n) for n in length]
    enough = [n for n in sizes if n >= longest]
    if not enough:
        raise ValueError(f"pad_ragged: length {length} is too small for an array of length {longest}")
    return min(enough)


def unpad_ragged(stack: Any, mask: Value) -> list[Array]:
    """The arrays that ``pad_ragged`` made a stack of, or what was computed of it for each element.

    Args:
      stack: of shape ``(n, length, ...)``.
      mask: bool of shape ``(n, length)``, not traced: shapes depend on it.

    Returns:
      a list of ``n`` arrays: the elements of each row where ``mask`` is True.

    Raises:
      ConcretizationTypeError: for a traced mask.
      ValueError: if the shapes do not fit.

    Example:
      >>> stack, mask = pad_ragged([rnp.array([1.0, 2.0, 3.0]), rnp.array([4.0])])
      >>> unpad_ragged(2 * stack, mask)
      [Array([2., 4., 6.], dtype=float32), Array([8.], dtype=float32)]
    """
    if is_tracer(mask):
        raise ConcretizationTypeError(
            "unpad_ragged makes arrays whose lengths are those of the mask, which is traced here; call it "
            "outside of the compiled function, or compute with the stack and the mask"
        )
    known = np.asarray(mask)
    if known.ndim != 2 or known.dtype != bool or rnp.shape(stack)[:2] != known.shape:
        raise ShapeError(
            f"unpad_ragged takes a stack of shape (n, length, ...) and a mask of bool of shape (n, length), "
            f"got {rnp.shape(stack)} and {known.dtype} {known.shape}"
        )
    stack = rnp.asarray(stack)
    return [stack[i, np.flatnonzero(row)] for i, row in enumerate(known)]


__all__ = ["pad_ragged", "unpad_ragged"]
