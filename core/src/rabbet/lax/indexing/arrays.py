"""Advanced indexing: arrays of integers, alone or beside integers and whole dimensions, as one gather or
scatter.

NumPy's rule for where their dimensions go: arrays and integers that stand side by side leave their common
shape in their place; if a slice or a new axis stands between them, it comes first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from rabbet.lax import broadcasting, dynamic, shapes
from rabbet.lax.array_types import ArrayLike, ArrayOrTracer, DTypeLike
from rabbet.lax.indexing.boxes import fitted, is_run
from rabbet.lax.indexing.plans import ALL, ARRAY, FLAG, NEW, At, BoxFrom
from rabbet.primitives import convert, elementwise, extremes, logic, zeros
from rabbet.primitives import gather as gathers
from rabbet.primitives.extended_dtypes import from_physical, to_physical
from rabbet.primitives.gather import CLIP, FILL_OR_DROP, PROMISE_IN_BOUNDS, GatherDimensionNumbers
from rabbet.primitives.scatter import ScatterDimensionNumbers
from rabbet.program.dimensions import exceeds, is_symbolic
from rabbet.trace.interpreter import typeof


def lifted(x: ArrayLike, entries: tuple) -> tuple:
    """``x`` with a new dimension for each flag, the entries with flags as arrays, and the new dimensions."""
    if FLAG not in entries:
        return x, entries, ()
    consuming = [e for e in entries if e != NEW]
    dims = tuple([i for i, e in enumerate(consuming) if e == FLAG])
    return shapes.expand_dims(x, dims), tuple([ARRAY if e == FLAG else e for e in entries]), dims


class Places(NamedTuple):
    """Advanced indices as the numbers of a gather or scatter."""

    indices: object  # index vectors along the last dimension
    dims: tuple  # the dimensions that they position
    single: tuple  # those of them that have a single element in each window; the others, a run of them
    window: tuple  # the dimensions of the result that run over the window, before new ones are put in
    new: tuple  # the new dimensions of the result
    shape: tuple  # the shape of the result, new dimensions included
    in_bounds: bool  # whether all indices are known to be in range


def places(shape: Sequence[int], entries: tuple, operands: Sequence[Any], wrap: bool = True) -> Places:
    """The ``Places`` of entries without slices but runs of neighbours, for an array of the given shape."""
    given = iter(operands)
    at, taken, runs = 0, [], {}
    for entry in entries:
        if entry == NEW:
            continue
        if is_run(entry):
            taken.append((at, next(given) if type(entry) is BoxFrom else entry.start))
            runs[at] = entry.size
        elif entry != ALL:
            value = entry.position if type(entry) is At else next(given)
            taken.append((at, value))
        at += 1
    dims = tuple([d for d, _ in taken])
    single = tuple([d for d in dims if d not in runs])
    values, in_bounds = positions(taken, shape, wrap)
    common = broadcasting.broadcast_shapes(*[typeof(v).shape for v in values])
    order = layout(entries, len(common))
    sizes = iter([runs.get(d, n) for d, n in enumerate(shape) if d not in single])
    result = [
        common[item[1]] if item[0] == "index" else next(sizes) if item[0] == "window" else 1 for item in order
    ]
    new = tuple([i for i, item in enumerate(order) if item[0] == "new"])
    plain = [item for item in order if item[0] != "new"]
    window = tuple([i for i, item in enumerate(plain) if item[0] == "window"])
    return Places(vectors(values, common), dims, single, window, new, tuple(result), in_bounds)


def layout(entries: tuple, common_rank: int) -> list[tuple]:
    """The dimensions of the result in order, as ("index", i), ("window",) and ("new",)."""
    advanced = [i for i, e in enumerate(entries) if e not in (NEW, ALL) and not is_run(e)]
    side_by_side = advanced[-1] - advanced[0] == len(advanced) - 1
    block: list[tuple] = [("index", i) for i in range(common_rank)]
    order: list[tuple] = [] if side_by_side else list(block)
    for i, entry in enumerate(entries):
        if side_by_side and i == advanced[0]:
            order += block
        if entry == NEW:
            order.append(("new",))
        elif entry == ALL or is_run(entry):
            order.append(("window",))
    return order


def positions(taken: list, shape: Sequence[int], wrap: bool) -> tuple[list, bool]:
    """Positions in one integer dtype, counted from the end where negative; and whether all are known to be in
    range.
    """
    known = lambda d, v: isinstance(v, (int, np.ndarray)) and not is_symbolic((shape[d],))
    static = all(known(d, v) for d, v in taken)
    wide = any(exceeds(shape[d], 2**31 - 1) for d, _ in taken)
    dtype = np.dtype("int64" if wide else "int32")
    values, in_bounds = [], static
    for d, value in taken:
        size = shape[d]
        if known(d, value):
            host = np.asarray(value)
            host = np.where(host < 0, host + size, host) if wrap and host.dtype.kind == "i" else host
            in_bounds = in_bounds and bool(((host >= 0) & (host < size)).all())
            values.append(np.clip(host, -1, size).astype(dtype))
        else:
            values.append(dynamic_positions(value, size, dtype, wrap))
    return values, in_bounds


def dynamic_positions(value: Any, size: int, dtype: DTypeLike, wrap: bool) -> ArrayOrTracer:
    have = typeof(value).dtype
    if have.kind == "u":
        # Beyond the signed range a position would turn negative: it is out of bounds anyway.
        if have.itemsize >= dtype.itemsize:
            value = extremes.min(value, zeros.full_of_type(typeof(value), np.iinfo(dtype).max))
        return convert.to_dtype(value, dtype)
    if have.itemsize > dtype.itemsize:
        # To what the dtype holds, and not to the size: `checkify` tells the position that was asked for.
        value = extremes.clamp(np.iinfo(dtype).min, value, np.iinfo(dtype).max)
    value = convert.to_dtype(value, dtype)
    if not wrap:
        return value
    return logic.select_n(logic.lt(value, 0), value, elementwise.add(value, dynamic.size_beside(size, value)))


def vectors(values: list, common: tuple) -> ArrayOrTracer:
    """Position arrays as index vectors along a new last dimension."""
    if all(isinstance(v, np.ndarray) for v in values):
        return np.stack(np.broadcast_arrays(*values), axis=-1) if len(values) > 1 else values[0][..., None]
    columns = []
    for v in values:
        rank = typeof(v).ndim
        lead = len(common) - rank
        columns.append(broadcasting.broadcast_in_dim(v, (*common, 1), tuple(range(lead, len(common)))))
    return shapes.concatenate(columns, len(common))


def take_arrays(
    x: ArrayLike, entries: tuple, operands: Sequence[Any], *, mode: Any = None, fill_value: Any = None,
    indices_are_sorted: bool = False, unique_indices: bool = False, wrap: bool = True,
) -> ArrayOrTracer:  # fmt: skip
    """``x[...]`` by entries with arrays and without slices: one gather."""
    shape, dtype = typeof(x).shape, typeof(x).dtype
    at = places(shape, entries, operands, wrap)
    if 0 in at.shape or empty_dims(shape, at):
        return empty_result(x, shape, at)
    if mode is None or at.in_bounds:
        mode = PROMISE_IN_BOUNDS if at.in_bounds else CLIP
    sizes = tuple([1 if d in at.dims else n for d, n in enumerate(shape)])
    numbers = GatherDimensionNumbers(at.window, at.dims, at.dims)
    if mode is FILL_OR_DROP and fill_value is None:
        if typeof(x).is_extended:  # what it is stored as says what is read outside
            stored = take_arrays(
                to_physical(x), (*entries, *[ALL] * len(dtype.physical_shape)), operands, mode=mode,
                indices_are_sorted=indices_are_sorted, unique_indices=unique_indices, wrap=wrap,
            )  # fmt: skip
            return from_physical(stored, dtype=dtype)
        fill_value = gathers.default_fill(dtype)
    out = gathers.gather(
        x, at.indices, dimension_numbers=numbers, slice_sizes=sizes, indices_are_sorted=indices_are_sorted,
        unique_indices=unique_indices, mode=mode, fill_value=fill_value if mode is FILL_OR_DROP else None,
    )  # fmt: skip
    return shapes.expand_dims(out, at.new)


def empty_dims(shape: Sequence[int], at: Places) -> list[int]:
    return [d for d in at.dims if shape[d] == 0]


def empty_result(x: ArrayLike, shape: Sequence[int], at: Places) -> ArrayOrTracer:
    """An empty array, where nothing is read; reading something from nothing is an error."""
    empty = empty_dims(shape, at)
    if empty and 0 not in at.shape:
        raise IndexError(
            f"cannot take elements along dimension {empty[0]} of {typeof(x).str_short()}: it is empty"
        )
    flat = shapes.reshape(x, (x.size,))
    return shapes.reshape(shapes.slice(flat, (0,), (0,)), at.shape)


def put_arrays(
    x: ArrayLike, updates: ArrayLike, entries: tuple, operands: Sequence[Any], scatter: Callable, *,
    mode: Any, indices_are_sorted: bool = False, unique_indices: bool = False, wrap: bool = True,
) -> ArrayOrTracer:  # fmt: skip
    """``x`` with ``updates`` (an array, broadcast to what ``take_arrays`` reads) scattered into it.

    Slices of neighbours may stand among the entries: they are part of the windows.
    """
    shape = typeof(x).shape
    at = places(shape, entries, operands, wrap)
    updates = fitted(updates, at.shape)
    if 0 in at.shape or 0 in shape:
        return x
    updates = shapes.squeeze(updates, at.new)
    alone = typeof(at.indices).ndim == 1
    numbers = ScatterDimensionNumbers(at.window, at.single, at.dims)
    return scatter(
        x, at.indices, updates, dimension_numbers=numbers, indices_are_sorted=alone or indices_are_sorted,
        unique_indices=alone or unique_indices, mode=PROMISE_IN_BOUNDS if at.in_bounds else mode,
    )  # fmt: skip


__all__ = ["lifted", "put_arrays", "take_arrays"]
