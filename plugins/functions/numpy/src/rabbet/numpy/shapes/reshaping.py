"""The same elements in other shapes: reshape, transpose, expand, squeeze, broadcast."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from rabbet import lax
from rabbet.errors import ShapeError
from rabbet.extend.functions import folded, fused, obeys_out_sharding
from rabbet.extend.transform import is_tracer, typeof
from rabbet.numpy.reductions.reducing import spread_to
from rabbet.numpy.support.arguments import as_array, axes_of, axis_of, check, integer_dtype, shape_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np

    from rabbet.typing import DTypeLike, Value


def array_of(name: str, x: Value) -> Any:
    """``x`` checked, and lifted if it is a NumPy array or a number."""
    check(name, x)
    return as_array(x)


def sizes_of(a: Value, shape: Any) -> Any:
    """A new shape with its -1 worked out.

    Raises:
      TypeError: if the number of elements does not fit.
      ValueError: for more than one -1.
    """
    aval = typeof(a)
    shape = shape_of("reshape", shape)
    if any(d < -1 for d in shape):
        raise ValueError(f"reshape: a dimension cannot be negative, apart from one -1, got {shape}")
    unknown = [d for d, n in enumerate(shape) if n < 0]
    if not unknown:
        return shape
    if len(unknown) > 1:
        raise ShapeError(f"reshape: only one dimension can be worked out (-1), got {shape}")
    rest = math.prod([n for n in shape if n >= 0])
    if rest == 0 or aval.size % rest:
        raise ShapeError(f"reshape: {aval.str_short()} of {aval.size} elements does not divide into {shape}")
    return tuple([aval.size // rest if n < 0 else n for n in shape])


@obeys_out_sharding
def reshape(
    a: Value, shape: Any, order: str = "C", *, copy: bool | None = None, out_sharding: Any = None
) -> Value:
    """The elements of ``a`` in another shape.

    Args:
      a: an array.
      shape: an int or a tuple of ints; one may be -1, which is worked out.
      order: ``"C"``: row-major; ``"F"``: column-major, as if the first dimension changed fastest.
      copy: True: memory of its own, also where the shape stays as it is.

    Raises:
      TypeError: if the number of elements does not fit.

    Example:
      >>> rnp.reshape(rnp.arange(6), (2, -1))
      Array([[0, 1, 2],
             [3, 4, 5]], dtype=int32)
    """
    a = array_of("reshape", a)
    sizes = sizes_of(a, shape)
    if copy and sizes == a.shape:
        from rabbet.numpy.creation.conversion import array

        a = array(a, copy=True)
    if order == "C" or order == "A":
        return lax.reshape(a, sizes)
    if order == "K":
        raise NotImplementedError("reshape: the order 'K' is not there; arrays lie by rows, as 'C' has them")
    if order != "F":
        raise ValueError(f"reshape: order must be 'C' or 'F', got {order!r}")
    return column_major(a, sizes)


@fused(static=("sizes",))
def column_major(a: Any, sizes: Any) -> Any:
    """``a`` reshaped with the first dimension running fastest."""
    backwards = lax.reshape(lax.transpose(a, tuple(reversed(range(a.ndim)))), tuple(reversed(sizes)))
    return lax.transpose(backwards, tuple(reversed(range(len(sizes)))))


@obeys_out_sharding
def ravel(a: Value, order: str = "C", *, out_sharding: Any = None) -> Value:
    """The elements in one dimension, row-major, or column-major for ``order="F"``.

    Example:
      >>> rnp.ravel(rnp.array([[1, 2], [3, 4]]))
      Array([1, 2, 3, 4], dtype=int32)
    """
    return reshape(a, (-1,) if typeof(a).size else (0,), order)


def transpose(a: Value, axes: Any = None) -> Value:
    """``a`` with its dimensions permuted: dimension i of the result is ``axes[i]`` of ``a``; reversed for
    None.

    Raises:
      ValueError: if ``axes`` is not a permutation.

    Example:
      >>> rnp.permute_dims(rnp.ones((2, 3, 4)), (2, 0, 1)).shape
      (4, 2, 3)
    """
    a = array_of("transpose", a)
    if axes is None:
        return lax.transpose(a, tuple(reversed(range(a.ndim))))
    order = axes_of("transpose", tuple(axes), a.ndim)
    if len(order) != a.ndim:
        raise ShapeError(
            f"transpose: {tuple(axes)} must name each of the {a.ndim} dimensions of {a.aval.str_short()}"
        )
    return lax.transpose(a, order)


permute_dims = transpose


@folded
def matrix_transpose(x: Value, /) -> Value:
    """``x`` with its last two dimensions swapped.

    Raises:
      ValueError: for less than two dimensions.

    Example:
      >>> rnp.matrix_transpose(rnp.ones((5, 2, 3))).shape
      (5, 3, 2)
    """
    x = array_of("matrix_transpose", x)
    if x.ndim < 2:
        raise ShapeError(f"matrix_transpose needs at least two dimensions, got {x.aval.str_short()}")
    return swapaxes(x, -1, -2)


def swapaxes(a: Value, axis1: int, axis2: int) -> Value:
    """``a`` with two dimensions swapped.

    Example:
      >>> rnp.swapaxes(rnp.ones((2, 3, 4)), 0, 2).shape
      (4, 3, 2)
    """
    a = array_of("swapaxes", a)
    order = list(range(a.ndim))
    i, j = axis_of("swapaxes", axis1, a.ndim), axis_of("swapaxes", axis2, a.ndim)
    order[i], order[j] = order[j], order[i]
    return lax.transpose(a, tuple(order))


def moveaxis(a: Value, source: int | Sequence[int], destination: int | Sequence[int]) -> Value:
    """``a`` with dimensions moved to other places, the rest keeping their order.

    Args:
      a: an array.
      source, destination: an int, or as many ints each.

    Raises:
      ValueError: if they differ in number.

    Example:
      >>> rnp.moveaxis(rnp.ones((2, 3, 4)), 0, -1).shape
      (3, 4, 2)
    """
    a = array_of("moveaxis", a)
    moved, places = axes_of("moveaxis", source, a.ndim), axes_of("moveaxis", destination, a.ndim)
    if len(moved) != len(places):
        raise ValueError(f"moveaxis: {len(moved)} axes to move and {len(places)} places for them")
    order = [d for d in range(a.ndim) if d not in moved]
    for place, axis in sorted(zip(places, moved)):
        order.insert(place, axis)
    return lax.transpose(a, tuple(order))


def rollaxis(a: Value, axis: int, start: int = 0) -> Value:
    """``a`` with one dimension moved back until it stands before ``start``; ``moveaxis`` says it more
    plainly.

    Example:
      >>> rnp.rollaxis(rnp.ones((2, 3, 4)), 2).shape
      (4, 2, 3)
    """
    a = array_of("rollaxis", a)
    axis = axis_of("rollaxis", axis, a.ndim)
    start = start if start == a.ndim else axis_of("rollaxis", start, a.ndim)
    return moveaxis(a, axis, start - 1 if axis < start else start)


def expand_dims(a: Value, axis: int | Sequence[int]) -> Value:
    """``a`` with new dimensions of size 1, so that they are at ``axis`` (an int or a tuple) in the
    result.

    Example:
      >>> rnp.expand_dims(rnp.arange(3), 0).shape
      (1, 3)
    """
    a = array_of("expand_dims", a)
    added = len(axis) if isinstance(axis, (tuple, list, range)) else 1
    return lax.expand_dims(a, axes_of("expand_dims", axis, a.ndim + added))


def squeeze(a: Value, axis: int | Sequence[int] | None = None) -> Value:
    """``a`` without its dimensions of size 1, or without those that are named.

    Raises:
      ValueError: for a named dimension of another size.

    Example:
      >>> rnp.squeeze(rnp.ones((1, 3, 1))).shape
      (3,)
    """
    a = array_of("squeeze", a)
    if axis is None:
        return lax.squeeze(a, tuple([d for d, n in enumerate(a.shape) if n == 1]))
    return lax.squeeze(a, axes_of("squeeze", axis, a.ndim))


@obeys_out_sharding
def broadcast_to(array: Value, shape: Any, *, out_sharding: Any = None) -> Value:
    """``array`` repeated to a shape, by NumPy's rule.

    Raises:
      ValueError: if it does not broadcast to it.

    Example:
      >>> rnp.broadcast_to(rnp.arange(3), (2, 3))
      Array([[0, 1, 2],
             [0, 1, 2]], dtype=int32)
    """
    array = array_of("broadcast_to", array)
    shape = shape_of("broadcast_to", shape)
    have = array.aval.shape
    lead = len(shape) - len(have)
    if lead < 0 or any(n not in (1, m) for n, m in zip(have, shape[lead:])):
        raise ValueError(
            f"broadcast_to: {array.aval.str_short()} does not broadcast to {shape}: "
            f"counted from the last, each dimension "
            f"must have size 1 or the size asked for"
        )
    return spread_to(array, shape)


def broadcast_shapes(*shapes: int | Sequence[int]) -> tuple[int, ...]:
    """The shape that arrays of these shapes broadcast to; a shape may be an int.

    Raises:
      ValueError: if they do not broadcast together.

    Example:
      >>> rnp.broadcast_shapes((3, 1), (4,))
      (3, 4)
    """
    return lax.broadcast_shapes(*[shape_of("broadcast_shapes", s) for s in shapes]) if shapes else ()


@fused
def broadcast_arrays(*args: Value) -> tuple[Value, ...]:
    """The arrays, broadcast to one shape: a tuple.

    Example:
      >>> [x.shape for x in rnp.broadcast_arrays(rnp.ones((3, 1)), rnp.ones(4))]
      [(3, 4), (3, 4)]
    """
    arrays = [array_of("broadcast_arrays", a) for a in args]
    full = lax.broadcast_shapes(*[a.shape for a in arrays]) if arrays else ()
    return tuple([spread_to(a, full) for a in arrays])


def at_least(name: str, rank: int) -> Callable[..., Any]:
    """Make ``atleast_1d`` and its sisters: where new dimensions go is NumPy's convention."""

    def one(x: Value) -> Value:
        x = array_of(name, x)
        if x.ndim >= rank:
            return x
        if rank == 3 and x.ndim == 2:
            return lax.expand_dims(x, (2,))
        if rank == 3 and x.ndim == 1:
            return lax.expand_dims(x, (0, 2))
        return lax.expand_dims(x, tuple(range(rank - x.ndim)))

    def function(*arys: Value) -> Value:
        return one(arys[0]) if len(arys) == 1 else tuple([one(x) for x in arys])

    function.__name__ = function.__qualname__ = name
    function.__doc__ = (
        f"Arrays with at least {rank} dimension{'s' * (rank > 1)}, new ones of "
        f"size 1; a tuple for several arrays.\n\n>>> rnp.{name}(rnp.arange(3)).shape\n"
        f"{(3,) if rank == 1 else (1, 3) if rank == 2 else (1, 3, 1)}"
    )
    return function


atleast_1d, atleast_2d, atleast_3d = (
    at_least("atleast_1d", 1),
    at_least("atleast_2d", 2),
    at_least("atleast_3d", 3),
)


def unravel_index(indices: Value, shape: int | Sequence[int]) -> tuple[Value, ...]:
    """Positions in row-major order as a tuple of coordinates, negative ones counting from the end.

    Example:
      >>> rnp.unravel_index(rnp.array([5, 1]), (2, 3))
      (Array([1, 0], dtype=int32), Array([2, 1], dtype=int32))
    """
    from rabbet.numpy.elementwise.arithmetic import floor_divide, remainder
    from rabbet.numpy.elementwise.selection_and_rounding import clip, where

    shape = shape_of("unravel_index", shape)
    indices = array_of("unravel_index", indices)
    total = math.prod(shape)
    at = clip(where(lax.lt(indices, 0), lax.add(indices, total), indices), 0, max(total - 1, 0))
    out = []
    for n in reversed(shape):
        out.append(remainder(at, n))
        at = floor_divide(at, n)
    return tuple(reversed(out))


@folded
def ravel_multi_index(
    multi_index: Sequence[Value],
    dims: Sequence[int],
    mode: str = "raise",
    order: str = "C",
    *,
    dtype: DTypeLike | None = None,
) -> Value:
    """Coordinates, one array per dimension, as positions in row-major order.

    Args:
      multi_index: a tuple of integer arrays.
      dims: the shape they are for.
      mode: ``"wrap"`` or ``"clip"`` for coordinates outside; ``"raise"`` refuses those that are known,
        and trusts traced ones.
      order: ``"C"`` or ``"F"``.
      dtype: of the result, an integer dtype; by default that of the coordinates.

    Raises:
      ShapeError: if there is not one array for each dimension, or a known coordinate is outside.
      ValueError: for another ``dtype``.

    Example:
      >>> rnp.ravel_multi_index((rnp.array([1, 0]), rnp.array([2, 1])), (2, 3))
      Array([5, 1], dtype=int32)
    """
    from rabbet.numpy.indexing.taking import integer_indices

    dtype = None if dtype is None else integer_dtype("ravel_multi_index", dtype)
    dims = tuple([operator.index(n) for n in dims])
    if len(dims) != len(multi_index):
        raise ShapeError(f"ravel_multi_index: {len(multi_index)} coordinates for {len(dims)} dimensions")
    places = tuple([integer_indices("ravel_multi_index", i) for i in multi_index])
    for i, n in zip(places, dims) if mode == "raise" else ():
        known = None if is_tracer(i) else np.asarray(i)
        if known is not None and ((known < 0) | (known >= n)).any():
            raise ShapeError(
                f"ravel_multi_index: invalid entry in the coordinates, which must be from 0 to {n - 1}; "
                "mode='clip' or mode='wrap' bring others inside"
            )
    return flat_places(places, dims, mode, order, dtype)


@fused(static=("dims", "mode", "order", "dtype"))
def flat_places(places: Any, dims: tuple[int, ...], mode: str, order: str, dtype: Any) -> Value:
    """Positions in an array of the sizes ``dims``, made flat, from those along each dimension."""
    from rabbet.numpy.elementwise.arithmetic import remainder
    from rabbet.numpy.elementwise.selection_and_rounding import clip

    bring = {"wrap": remainder, "clip": lambda i, n: clip(i, 0, n - 1), "raise": lambda i, n: i}[mode]
    pairs = list(zip(places, dims))
    out = 0
    for i, n in pairs if order == "C" else reversed(pairs):
        out = out * n + bring(i, n)
    return out if dtype is None else lax.convert_element_type(out, dtype)


__all__ = [
    "atleast_1d",
    "atleast_2d",
    "atleast_3d",
    "broadcast_arrays",
    "broadcast_shapes",
    "broadcast_to",
    "expand_dims",
    "matrix_transpose",
    "moveaxis",
    "permute_dims",
    "ravel",
    "ravel_multi_index",
    "reshape",
    "rollaxis",
    "squeeze",
    "swapaxes",
    "transpose",
    "unravel_index",
]
