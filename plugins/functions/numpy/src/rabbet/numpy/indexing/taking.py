"""Reading at computed positions: take, take_along_axis and their relatives."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from rabbet import dtypes, lax
from rabbet.errors import DTypeError, ShapeError
from rabbet.extend.functions import fused
from rabbet.extend.transform import typeof
from rabbet.numpy.indexing.searching import flatnonzero, flattened
from rabbet.numpy.reductions.reducing import spread_to
from rabbet.numpy.support.arguments import as_array, axis_of, check, kind_of, no_out, weak_as

if TYPE_CHECKING:
    from rabbet.typing import Value


def integer_indices(name: str, indices: Value) -> Value:
    """Indices checked to be integers."""
    check(name, indices)
    if kind_of(indices) not in "iu":
        raise DTypeError(f"{name}: indices must be integers, got {typeof(indices).str_short()}")
    return as_array(indices)


@fused(static=("axis", "out", "mode", "unique_indices", "indices_are_sorted", "fill_value"))
def take(
    a: Value,
    indices: Value,
    axis: int | None = None,
    out: Any = None,
    mode: str | None = None,
    unique_indices: bool = False,
    indices_are_sorted: bool = False,
    fill_value: Value | None = None,
) -> Value:
    """The elements, or slices along ``axis``, at the given positions.

    Args:
      a: an array.
      indices: integers; negative ones count from the end.
      axis: the dimension that they point into; None: into all elements in row-major order.
      mode: for positions outside: ``"fill"`` (default) gives NaN, or the smallest signed, largest unsigned
        integer; ``"clip"`` (for keys the default) the nearest element, the first for negative ones;
        ``"wrap"`` counts round.
      fill_value: what ``"fill"`` gives.

    Raises:
      TypeError: for indices that are not integers.

    Example:
      >>> rnp.take(rnp.array([10, 20, 30]), rnp.array([2, 0]))
      Array([30, 10], dtype=int32)
    """
    no_out("take", out)
    check("take", a)
    if mode == "raise":
        raise NotImplementedError(
            "take: a compiled program cannot raise for a position outside; use mode='fill', 'clip' or 'wrap'"
        )
    a, indices = as_array(a), integer_indices("take", indices)
    if axis is None:
        a, axis = lax.reshape(a, (a.size,)), 0
    axis = axis_of("take", axis, a.ndim)
    if mode == "wrap":
        from rabbet.numpy.elementwise.arithmetic import remainder

        indices, mode = remainder(indices, max(a.shape[axis], 1)), "promise_in_bounds"
    if mode == "clip":  # as in NumPy, where negative indices count from the end in the other modes only
        indices = lax.max(indices, 0)
    if mode is None and isinstance(a.dtype, dtypes.ExtendedDType):  # keys have no NaN to fill with
        mode = "clip"
    where = (slice(None),) * axis + (indices,)
    out = a.at[where].get(
        mode=mode or "fill",
        unique_indices=unique_indices,
        indices_are_sorted=indices_are_sorted,
        fill_value=fill_value,
    )
    return weak_as(out, a)


@fused(static=("axis", "mode", "fill_value", "wrap_negative_indices"))
def take_along_axis(
    arr: Value,
    indices: Value,
    axis: int | None = -1,
    mode: str | None = None,
    fill_value: Value | None = None,
    *,
    wrap_negative_indices: bool = True,
) -> Value:
    """From each line along ``axis`` the elements at that line's own positions; all other dimensions
    broadcast.

    Args:
      arr: an array.
      indices: integers, of the same number of dimensions.
      axis: None: both are flattened.
      mode, fill_value: see ``take``; ``"one_hot"`` compares each position with all places and sums what is
        chosen, 0 for a position outside, which some accelerators do faster than a gather.
      wrap_negative_indices: whether negative positions count from the end; if not, they are outside.

    Raises:
      TypeError: for indices that are not integers.
      ValueError: if the numbers of dimensions differ.

    Example:
      >>> x = rnp.array([[3, 1], [2, 4]])
      >>> rnp.take_along_axis(x, rnp.argsort(x, axis=1), axis=1)
      Array([[1, 3],
             [2, 4]], dtype=int32)
    """
    check("take_along_axis", arr)
    arr, indices = as_array(arr), integer_indices("take_along_axis", indices)
    if axis is None:
        arr, axis = lax.reshape(arr, (arr.size,)), 0
    if arr.ndim != indices.ndim:
        raise ValueError(
            f"take_along_axis: array and indices must have as many dimensions, "
            f"got {arr.aval.str_short()} and "
            f"{indices.aval.str_short()}"
        )
    axis = axis_of("take_along_axis", axis, arr.ndim)
    if mode == "one_hot":
        return picked(arr, indices, axis, wrap_negative_indices)
    return gathered(arr, indices, axis, mode or "fill", fill_value, wrap_negative_indices)


def picked(arr: Value, indices: Value, axis: int, wrap: bool) -> Value:
    """The elements at positions, by comparing with all places."""
    ndim, size = arr.ndim, arr.shape[axis]
    others = [d for d in range(ndim) if d != axis]
    lead = lax.broadcast_shapes(*[tuple([x.shape[d] for d in others]) for x in (arr, indices)])
    arr, indices = [spread_to(x, completed(lead, axis, x.shape[axis])) for x in (arr, indices)]
    if wrap and kind_of(indices) == "i":
        indices = lax.select(lax.lt(indices, 0), lax.add(indices, size), indices)
    full = (*indices.shape, size)
    kept = tuple(range(ndim))
    rows = lax.broadcast_in_dim(arr, full, tuple([ndim if d == axis else d for d in range(ndim)]))
    places = lax.broadcast_in_dim(lax.iota(indices.dtype, size), full, (ndim,))
    chosen = lax.eq(lax.broadcast_in_dim(indices, full, kept), places)
    if kind_of(arr) == "b":
        return lax.reduce_or(lax.bitwise_and(chosen, rows), (ndim,))
    return lax.reduce_sum(lax.select(chosen, rows, lax.full_like(rows, 0)), (ndim,))


def gathered(
    arr: Value, indices: Value, axis: int, mode: str, fill_value: Value | None, wrap: bool = True
) -> Value:
    """One gather: the dimensions besides ``axis`` run along together."""
    ndim = arr.ndim
    others = [d for d in range(ndim) if d != axis]
    lead = lax.broadcast_shapes(*[tuple([x.shape[d] for d in others]) for x in (arr, indices)])
    arr, indices = [spread_to(x, completed(lead, axis, x.shape[axis])) for x in (arr, indices)]
    size = arr.shape[axis]
    indices = (
        lax.select(lax.lt(indices, 0), lax.add(indices, size), indices)
        if wrap and kind_of(indices) == "i"
        else indices
    )
    numbers = lax.GatherDimensionNumbers(
        offset_dims=(), collapsed_slice_dims=(axis,), start_index_map=(axis,),
        operand_batching_dims=tuple(others), start_indices_batching_dims=tuple(others),
    )  # fmt: skip
    return lax.gather(
        arr, lax.expand_dims(indices, (ndim,)), numbers, (1,) * ndim, mode=mode, fill_value=fill_value
    )


def completed(lead: tuple[int, ...], axis: int, size: int) -> tuple[int, ...]:
    """A shape with a size put in at ``axis``."""
    return (*lead[:axis], size, *lead[axis:])


@fused(static=("axis", "inplace", "mode"))
def put_along_axis(
    arr: Value,
    indices: Value,
    values: Value,
    axis: int | None,
    inplace: bool = True,
    *,
    mode: str | None = None,
) -> Value:
    """A copy of ``arr`` with elements replaced: from each line along ``axis`` those at that line's own
    positions.

    ``inplace`` must be False: arrays do not change, the changed copy is returned.

    Example:
      >>> rnp.put_along_axis(rnp.zeros((2, 2)), rnp.array([[0], [1]]), 5.0, axis=1, inplace=False)
      Array([[5., 0.],
             [0., 5.]], dtype=float32)
    """
    if inplace:
        raise ValueError(
            "put_along_axis: arrays do not change; pass inplace=False and use the array that is returned"
        )
    check("put_along_axis", arr, values)
    arr, indices = as_array(arr), integer_indices("put_along_axis", indices)
    if axis is None:
        flat = put_along_axis(lax.reshape(arr, (arr.size,)), indices, values, 0, False, mode=mode)
        return lax.reshape(flat, arr.shape)
    axis = axis_of("put_along_axis", axis, arr.ndim)
    shape = tuple([n if d != axis else indices.shape[axis] for d, n in enumerate(arr.shape)])
    indices = spread_to(indices, shape)
    where = tuple(
        [indices if d == axis else lax.broadcasted_iota("int32", shape, d) for d in range(arr.ndim)]
    )
    return arr.at[where].set(spread_to(lax.convert_element_type(values, arr.dtype), shape), mode=mode)


def compress(
    condition: Value,
    a: Value,
    axis: int | None = None,
    *,
    size: int | None = None,
    fill_value: Value = 0,
    out: Any = None,
) -> Value:
    """The slices of ``a`` along ``axis`` for which a vector of booleans holds.

    Args:
      condition: a vector; known, unless ``size`` is given.
      a: an array.
      axis: None: of all elements in row-major order.
      size: how many to return; missing ones are ``fill_value``.

    Example:
      >>> rnp.compress(rnp.array([True, False, True]), rnp.arange(3))
      Array([0, 2], dtype=int32)
    """
    no_out("compress", out)
    check("compress", condition, a)
    a = as_array(a)
    if typeof(condition).ndim != 1:
        raise ShapeError(f"compress takes a vector of booleans, got {typeof(condition).str_short()}")
    if axis is None:
        a, axis = lax.reshape(a, (a.size,)), 0
    axis = axis_of("compress", axis, a.ndim)
    if typeof(condition).shape[0] > a.shape[axis]:
        raise ShapeError(
            f"compress: {typeof(condition).str_short()} is longer than axis {axis} of {typeof(a).str_short()}"
        )
    at = flatnonzero(condition, size=size, fill_value=a.shape[axis])
    return take(a, at, axis, mode="fill", fill_value=fill_value)


def extract(condition: Value, arr: Value, *, size: int | None = None, fill_value: Value = 0) -> Value:
    """The elements of ``arr``, in row-major order, for which ``condition`` holds. Arguments as for
    ``compress``.

    Example:
      >>> rnp.extract(rnp.array([True, False, True]), rnp.arange(3))
      Array([0, 2], dtype=int32)
    """
    condition, arr = flattened("extract", condition), flattened("extract", arr)
    return compress(condition, arr, size=size, fill_value=fill_value)


def choose(a: Value, choices: Any, out: Any = None, mode: str = "raise") -> Value:
    """From each position's choice number ``a``, that choice's element there.

    Args:
      a: integers.
      choices: a sequence of arrays, which broadcast with ``a``.
      mode: for numbers outside: ``"wrap"`` or ``"clip"``; ``"raise"`` needs known values.

    Raises:
      ValueError: for numbers outside, under ``"raise"``.

    Example:
      >>> rnp.choose(rnp.array([0, 1, 0]), [rnp.array([1, 2, 3]), rnp.array([10, 20, 30])])
      Array([ 1, 20,  3], dtype=int32)
    """
    no_out("choose", out)
    a = integer_indices("choose", a)
    if isinstance(choices, str):
        raise ShapeError(f"choose: choices is a sequence of arrays, got {choices!r}")
    n = len(choices)
    if mode not in ("raise", "wrap", "clip"):
        raise ValueError(f"choose: mode must be 'raise', 'wrap' or 'clip', got {mode!r}")
    if mode == "raise":
        host = np.asarray(a)
        if host.size and not (host.min() >= 0 and host.max() < n):
            raise ValueError(
                f"choose: numbers must be from 0 to {n - 1}; mode='clip' or mode='wrap' bring others inside"
            )
    return chosen(a, list(choices), mode=mode)


@fused(static=("mode",))
def chosen(a: Any, choices: Any, mode: Any) -> Any:
    """``choose`` with its numbers checked."""
    from rabbet.numpy.elementwise.arithmetic import remainder
    from rabbet.numpy.elementwise.selection_and_rounding import clip

    check("choose", *choices)
    n = len(choices)
    a = remainder(a, n) if mode == "wrap" else clip(a, 0, n - 1)
    dtype = dtypes.result_type(*choices)
    shape = lax.broadcast_shapes(a.shape, *[typeof(c).shape for c in choices])
    cases = [spread_to(lax.convert_element_type(c, dtype), shape) for c in choices]
    return lax.select_n(lax.convert_element_type(spread_to(a, shape), "int32"), *cases)


__all__ = ["choose", "compress", "extract", "put_along_axis", "take", "take_along_axis"]
