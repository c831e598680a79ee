"""Putting arrays together and taking them apart: concatenate, stack, split."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from rabbet import Array, dtypes, lax
from rabbet.errors import DTypeError, ShapeError
from rabbet.extend.functions import fused
from rabbet.extend.transform import Tracer, typeof
from rabbet.numpy.shapes.reshaping import array_of, atleast_1d, atleast_2d, atleast_3d
from rabbet.numpy.support.arguments import as_array, axis_of, check, in_dtype, no_out

if TYPE_CHECKING:

    from rabbet.typing import DTypeLike, Value


def sequence_of(name: str, arrays: Any, dtype: str | None = None) -> list[Value]:
    """The arrays of a sequence in one dtype.

    Raises:
      TypeError: if it is not a sequence of arrays.
      ValueError: if it is empty.
    """
    if isinstance(arrays, Sequence) and not isinstance(arrays, (str, bytes)):  # also a deque, a UserList
        arrays = list(arrays)
    else:
        if not isinstance(arrays, (Array, Tracer)) and not hasattr(arrays, "__array__"):
            raise DTypeError(
                f"{name} takes a sequence of arrays, got a {type(arrays).__name__}; put them in a list"
            )
        if not typeof(arrays).ndim:
            raise DTypeError(f"{name} takes a sequence of arrays, got {typeof(arrays).str_short()}")
        arrays = [arrays[i] for i in range(typeof(arrays).shape[0])]
    if not arrays:
        raise ValueError(f"{name} needs at least one array, got an empty sequence")
    check(name, *arrays)
    if dtype is None:
        dtype, weak = dtypes.promote(*arrays)
    else:
        dtype, weak = dtypes.requested(dtype), False
    return [as_array(in_dtype((x,), dtype, weak)[0]) for x in arrays]


@fused(static=("axis", "dtype"))
def concatenate(
    arrays: Value | Sequence[Value], axis: int | None = 0, dtype: DTypeLike | None = None
) -> Value:
    """Arrays joined along a dimension that they have; for ``axis=None`` flattened first.

    Args:
      arrays: a sequence of arrays, or one array whose parts are joined.
      axis: the dimension; all others must agree.
      dtype: of the result, by default the common one.

    Raises:
      TypeError: if shapes disagree.
      ValueError: for arrays without dimensions, or no arrays.

    Example:
      >>> rnp.concat([rnp.arange(2), rnp.arange(3)])
      Array([0, 1, 0, 1, 2], dtype=int32)
    """
    arrays = sequence_of("concatenate", arrays, dtype)
    if axis is None:
        arrays, axis = [lax.reshape(a, (a.size,)) for a in arrays], 0
    if not arrays[0].ndim:
        if getattr(axis, "ndim", 0):
            raise TypeError(
                f"concatenate takes one sequence of arrays and an axis, got {typeof(axis).str_short()} as "
                "axis; put the arrays in a list, as in concatenate([a, b])"
            )
        raise ValueError(
            "concatenate joins along a dimension, and arrays without dimensions have none; use stack"
        )
    return lax.concatenate(arrays, axis_of("concatenate", axis, arrays[0].ndim))


concat = concatenate


@fused(static=("axis", "out", "dtype"))
def stack(
    arrays: Value | Sequence[Value], axis: int = 0, out: Any = None, dtype: DTypeLike | None = None
) -> Value:
    """Arrays of one shape joined along a new dimension.

    Raises:
      ValueError: if shapes differ, or there are no arrays.

    Example:
      >>> rnp.stack([rnp.arange(2), rnp.array([7, 8])], axis=1)
      Array([[0, 7],
             [1, 8]], dtype=int32)
    """
    no_out("stack", out)
    arrays = sequence_of("stack", arrays, dtype)
    shapes = {a.shape for a in arrays}
    if len(shapes) > 1:
        raise ValueError(
            f"stack takes arrays of one shape, got {', '.join(a.aval.str_short() for a in arrays)}"
        )
    return lax.stack(arrays, axis_of("stack", axis, arrays[0].ndim + 1))


def unstack(x: Value, /, *, axis: int = 0) -> tuple[Value, ...]:
    """The slices along a dimension, without it: a tuple.

    Raises:
      ValueError: for an array without dimensions.

    Example:
      >>> rnp.unstack(rnp.array([[1, 2], [3, 4]]))
      (Array([1, 2], dtype=int32), Array([3, 4], dtype=int32))
    """
    x = array_of("unstack", x)
    if not x.ndim:
        raise ShapeError("unstack takes arrays with at least one dimension")
    return tuple(slices_of(x, axis=axis_of("unstack", axis, x.ndim)))


slices_of = fused(lax.unstack, static=("axis",))


def stacker(name: str, prepare: Callable[..., Any], axis: Callable[..., Any], doc: str) -> Callable[..., Any]:
    """Make ``vstack`` and its like: bring the arrays to a rank, then join them along ``axis``."""

    @fused(static=("dtype",))
    def function(tup: Value | Sequence[Value], dtype: DTypeLike | None = None) -> Value:
        arrays = [prepare(a) for a in sequence_of(name, tup, dtype)]
        return lax.concatenate(arrays, axis(arrays[0].ndim))

    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc
    return function


vstack = stacker(
    "vstack",
    atleast_2d,
    lambda ndim: 0,
    """Arrays one below the other; vectors become rows.

    >>> rnp.vstack([rnp.arange(2), rnp.array([7, 8])])
    Array([[0, 1],
           [7, 8]], dtype=int32)
    """,
)
hstack = stacker(
    "hstack",
    atleast_1d,
    lambda ndim: 0 if ndim == 1 else 1,
    """Arrays side by side; vectors are joined end to end.

    >>> rnp.hstack([rnp.arange(2), rnp.array([7])])
    Array([0, 1, 7], dtype=int32)
    """,
)
dstack = stacker(
    "dstack",
    atleast_3d,
    lambda ndim: 2,
    """Arrays one behind the other, along a third dimension.

    >>> rnp.dstack([rnp.ones(3), rnp.zeros(3)]).shape
    (1, 3, 2)
    """,
)
column_stack = stacker(
    "column_stack", lambda a: lax.expand_dims(a, (1,)) if a.ndim == 1 else atleast_2d(a), lambda ndim: 1,
    """Arrays side by side; vectors become columns.

    >>> rnp.column_stack([rnp.arange(2), rnp.array([7, 8])])
    Array([[0, 7],
           [1, 8]], dtype=int32)
    """,
)  # fmt: skip


def block(arrays: Any) -> Value:
    """An array from nested lists of blocks: the innermost lists are joined along the last dimension, outer
    ones before it.

    Example:
      >>> rnp.block([[rnp.ones((2, 2)), rnp.zeros((2, 1))]])
      Array([[1., 1., 0.],
             [1., 1., 0.]], dtype=float32)
    """
    depth = nesting(arrays)
    at_one_depth(arrays, depth, "arrays")
    rank = max([depth, *[typeof(a).ndim for a in blocks_in(arrays)]])
    return joined_blocks(arrays, depth, rank)


def nesting(x: Any) -> Any:
    return 1 + nesting(x[0]) if isinstance(x, list) and x else 0


def at_one_depth(x: Any, depth: int, place: str) -> None:
    """Refuse lists that are empty, or in which some blocks lie deeper than others."""
    if isinstance(x, tuple):
        raise ShapeError(f"block takes lists, and {place} is a tuple; make a list of it")
    if not isinstance(x, list):
        if depth:
            raise ShapeError(f"block: list depths are mismatched: {place} is a block where others are lists")
        return
    if not depth or not x:
        what = "a list where others are blocks" if x else "an empty list"
        raise ShapeError(f"block: list depths are mismatched: {place} is {what}")
    for i, part in enumerate(x):
        at_one_depth(part, depth - 1, f"{place}[{i}]")


def blocks_in(x: Any) -> Any:
    return [leaf for v in x for leaf in blocks_in(v)] if isinstance(x, list) else [x]


def joined_blocks(x: Any, depth: Any, rank: Any) -> Any:
    if depth == 0:
        x = as_array(x)
        return lax.expand_dims(x, tuple(range(rank - x.ndim))) if x.ndim < rank else x
    return concatenate([joined_blocks(v, depth - 1, rank) for v in x], axis=rank - depth)


# --------------------------------------------------------------------------------------------- splitting
@fused(static=("cuts", "axis"))
def pieces(ary: Value, cuts: tuple[int, ...], axis: int) -> Any:
    """The pieces between cuts along an axis."""
    n = ary.aval.shape[axis]
    ends = [builtin_clip(c, n) for c in (0, *cuts, n)]
    return [lax.slice_in_dim(ary, lo, max(lo, hi), axis=axis) for lo, hi in pairwise(ends)]


def builtin_clip(cut: int, n: int) -> int:
    """A cut as a position in an axis of ``n`` elements, as Python's slices take it."""
    return slice(cut, None).indices(n)[0]


def array_split(ary: Value, indices_or_sections: Value, axis: int = 0) -> list[Value]:
    """``ary`` cut along ``axis`` into a number of pieces, of nearly one size, or at the given indices: a
    list.

    Example:
      >>> [part.tolist() for part in rnp.array_split(rnp.arange(5), 2)]
      [[0, 1, 2], [3, 4]]
    """
    ary = array_of("array_split", ary)
    axis = axis_of("array_split", axis, ary.ndim)
    return pieces(ary, cuts_of("array_split", indices_or_sections, ary.shape[axis]), axis)


def split(ary: Value, indices_or_sections: Value, axis: int = 0) -> list[Value]:
    """``ary`` cut along ``axis`` into a number of equal pieces, or at the given indices: a list.

    Raises:
      ValueError: if the axis does not divide into so many equal pieces.

    Example:
      >>> [x.tolist() for x in rnp.split(rnp.arange(6), rnp.array([2, 3]))]
      [[0, 1], [2], [3, 4, 5]]
    """
    ary = array_of("split", ary)
    axis = axis_of("split", axis, ary.ndim)
    n = ary.shape[axis]
    cuts = cuts_of("split", indices_or_sections, n)
    if not hasattr(indices_or_sections, "__len__") and n % operator.index(indices_or_sections):
        raise ShapeError(
            f"split: axis {axis} of {ary.aval.str_short()} does not divide into "
            f"{indices_or_sections} equal pieces; "
            f"array_split makes nearly equal ones"
        )
    return pieces(ary, cuts, axis)


def cuts_of(name: str, indices_or_sections: Any, n: int) -> Any:
    """Where to cut an axis of ``n`` elements."""
    if hasattr(indices_or_sections, "__len__") and getattr(indices_or_sections, "ndim", None) != 0:
        return tuple([operator.index(i) for i in indices_or_sections])
    sections = operator.index(indices_or_sections)
    if sections <= 0:
        raise ValueError(f"{name}: the number of pieces must be positive, got {sections}")
    size, larger = divmod(n, sections)
    sizes = [size + 1] * larger + [size] * (sections - larger)
    return tuple([sum(sizes[:i]) for i in range(1, sections)])


def vsplit(ary: Value, indices_or_sections: Value) -> list[Value]:
    """``split`` along the first dimension.

    Example:
      >>> [x.tolist() for x in rnp.vsplit(rnp.array([[1, 2], [3, 4]]), 2)]
      [[[1, 2]], [[3, 4]]]
    """
    return split(ary, indices_or_sections, 0)


def hsplit(ary: Value, indices_or_sections: Value) -> list[Value]:
    """``split`` along the second dimension, of a vector along its only one.

    Example:
      >>> [x.tolist() for x in rnp.hsplit(rnp.arange(4), 2)]
      [[0, 1], [2, 3]]
    """
    return split(ary, indices_or_sections, 0 if typeof(ary).ndim == 1 else 1)


def dsplit(ary: Value, indices_or_sections: Value) -> list[Value]:
    """``split`` along the third dimension.

    Example:
      >>> [x.shape for x in rnp.dsplit(rnp.ones((2, 3, 4)), 2)]
      [(2, 3, 2), (2, 3, 2)]
    """
    return split(ary, indices_or_sections, 2)


__all__ = [
    "array_split",
    "block",
    "column_stack",
    "concat",
    "concatenate",
    "dsplit",
    "dstack",
    "hsplit",
    "hstack",
    "split",
    "stack",
    "unstack",
    "vsplit",
    "vstack",
]
