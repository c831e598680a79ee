"""Arrays repeated along dimensions, by NumPy's rule or by numbers of dimensions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from rabbet.errors import InconclusiveDimensionOperation, ShapeError
from rabbet.lax.array_types import ArrayLike, ArrayOrTracer
from rabbet.primitives import shape as _shape
from rabbet.program import dimensions
from rabbet.program.dimensions import SymbolicDimension
from rabbet.runtime.transfer import obey_sharding, obeys_out_sharding
from rabbet.trace.interpreter import typeof

if TYPE_CHECKING:
    from rabbet.typing import Value


def sizes_of(values: Any, what: str) -> tuple[int, ...]:
    """A tuple of Python ints from whatever counts as one; a lone int becomes one dimension."""
    values = values if hasattr(values, "__iter__") else (values,)
    try:
        try:
            return tuple([v.__index__() for v in values])
        except InconclusiveDimensionOperation:
            return tuple([v if isinstance(v, SymbolicDimension) else v.__index__() for v in values])
    except AttributeError:
        raise TypeError(f"{what} must be ints, got {values!r}") from None


def broadcast_shapes(*shapes: Sequence[int]) -> tuple[int, ...]:
    """The shape that arrays of these shapes broadcast to, by NumPy's rule.

    Raises:
      ValueError: if they do not broadcast together.

    Example:
      >>> lax.broadcast_shapes((3, 1), (4,))
      (3, 4)
    """
    if len({tuple(s) for s in shapes}) == 1:
        return tuple(shapes[0])
    try:
        return np.broadcast_shapes(*shapes)
    except InconclusiveDimensionOperation:
        return _broadcast_symbolic(shapes)
    except ValueError:
        raise _not_together(shapes, "dimensions must be equal or 1") from None


def _broadcast_symbolic(shapes: Any) -> tuple[Any, ...]:
    try:
        return dimensions.broadcast(shapes)
    except ValueError:
        raise _not_together(shapes, "dimensions must be 1, or equal whatever the sizes are") from None


def _not_together(shapes: Any, rule: str) -> ShapeError:
    shown = ", ".join(str(tuple(s)) for s in shapes)
    # The first words are those that libraries look for.
    return ShapeError(f"Incompatible shapes for broadcasting: {shown}; counted from the last, {rule}")


def broadcast_in_dim(
    operand: ArrayLike, shape: Sequence[int], broadcast_dimensions: Sequence[int], *,
    out_sharding: Any = None,
) -> Value:  # fmt: skip
    """``operand`` repeated to ``shape``, its dimension i being dimension ``broadcast_dimensions[i]`` of the
    result.

    Example:
      >>> lax.broadcast_in_dim(rnp.arange(2), (2, 3), (0,))
      Array([[0, 0, 0],
             [1, 1, 1]], dtype=int32)
    """
    if out_sharding is not None:
        out = broadcast_in_dim(operand, shape, broadcast_dimensions)
        return obey_sharding("broadcast_in_dim", out, out_sharding)
    shape, dims = sizes_of(shape, "shape"), sizes_of(broadcast_dimensions, "broadcast_dimensions")
    same = typeof(operand).shape == shape and dims == tuple(range(len(shape)))
    if same and not isinstance(operand, (np.ndarray, np.generic, bool, int, float)):
        return operand
    return _shape.broadcast_in_dim(operand, shape=shape, broadcast_dimensions=dims)


@obeys_out_sharding
def broadcast(operand: ArrayLike, sizes: Sequence[int], *, out_sharding: Any = None) -> Value:
    """``operand`` repeated along new leading dimensions of the given sizes.

    Example:
      >>> lax.broadcast(rnp.arange(3), (2,))
      Array([[0, 1, 2],
             [0, 1, 2]], dtype=int32)
    """
    sizes = sizes_of(sizes, "sizes")
    aval = typeof(operand)
    dims = tuple(range(len(sizes), len(sizes) + aval.ndim))
    return broadcast_in_dim(operand, (*sizes, *aval.shape), dims)


def broadcast_to(operand: ArrayLike, shape: Sequence[int]) -> ArrayOrTracer:
    """``operand`` broadcast to ``shape`` by NumPy's rule."""
    aval = typeof(operand)
    lead = len(shape) - aval.ndim
    return broadcast_in_dim(operand, shape, tuple(range(lead, len(shape))))


def broadcast_like(arr: ArrayLike, like_arr: ArrayLike) -> Value:
    """``arr`` broadcast to the shape of another array, by NumPy's rule; where the type of that one says how
    it lies over devices, the result lies so, too.

    Raises:
      ValueError: if its shape does not broadcast to that one.

    Example:
      >>> lax.broadcast_like(1.0, rnp.zeros(3))
      Array([1., 1., 1.], dtype=float32, weak_type=True)
    """
    wanted = typeof(like_arr).shape
    if broadcast_shapes(typeof(arr).shape, wanted) != wanted:
        raise ShapeError(
            f"broadcast_like: {typeof(arr).str_short()} does not broadcast to the shape {wanted}"
        )
    out, like = broadcast_to(arr, wanted), typeof(like_arr)
    if like.spread is None or typeof(out).spread is like.spread:
        return out
    return obey_sharding("broadcast_like", out, like.sharding)


def broadcast_to_rank(x: ArrayLike, rank: int) -> Value:
    """``x`` with leading dimensions of size 1 up to ``rank`` dimensions.

    Example:
      >>> lax.broadcast_to_rank(rnp.arange(3), 2).shape
      (1, 3)
    """
    missing = rank - typeof(x).ndim
    if missing < 0:
        raise ShapeError(f"broadcast_to_rank: {typeof(x).str_short()} has more than {rank} dimensions")
    return _shape.expand_dims(x, dimensions=tuple(range(missing))) if missing else x


__all__ = [
    "broadcast",
    "broadcast_in_dim",
    "broadcast_like",
    "broadcast_shapes",
    "broadcast_to",
    "broadcast_to_rank",
    "sizes_of",
]
