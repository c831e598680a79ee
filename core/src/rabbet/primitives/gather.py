"""Reading windows of an array at many computed positions: gather.

``start_indices`` is an array of index vectors, one along its last dimension. Each picks a window of
``slice_sizes`` out of the operand; the results stand side by side, the dimensions of ``start_indices`` (but
the last) outside and the window's dimensions at ``offset_dims``. The numbers mean what they mean in
StableHLO's ``gather``. Its transposition, a scatter, stands in ``gather_rules.py``.
"""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from rabbet import dtypes
from rabbet.errors import DTypeError, ShapeError
from rabbet.primitives import (
    basic_reductions,
    batching,
    checks,
    convert,
    extremes,
    inlining,
    logic,
    shape,
    zeros,
)
from rabbet.primitives.attributes import int_list
from rabbet.program.avals import ShapedArray
from rabbet.program.dimensions import is_symbolic
from rabbet.rules.payloads import Batched, Dual, Zero, zero_tangent
from rabbet.rules.primitive import Primitive
from rabbet.trace.interpreter import typeof
from rabbet.trace.staging import stage

if TYPE_CHECKING:
    from rabbet.lowering.operation import Site
    from rabbet.rules.operator import Op
    from rabbet.typing import DType, Value


class GatherScatterMode(enum.Enum):
    """What happens at positions where a window would leave the array.

    CLIP moves the window inside. FILL_OR_DROP reads a fill value, and drops what would be written.
    PROMISE_IN_BOUNDS: the caller knows that it does not happen.

    Example:
      >>> x = rnp.arange(3.0)
      >>> x.at[rnp.array(9)].get(mode=lax.GatherScatterMode.CLIP)
      Array(2., dtype=float32)
    """

    CLIP = 1
    FILL_OR_DROP = 2
    PROMISE_IN_BOUNDS = 3

    @staticmethod
    def from_any(mode: GatherScatterMode | str | None) -> Any:
        """The mode named by a string, a mode itself, or None for the default FILL_OR_DROP."""
        if isinstance(mode, GatherScatterMode):
            return mode
        try:
            return _MODES[mode]
        except (KeyError, TypeError):
            known = ", ".join([repr(name) for name in _MODES if name])
            raise ValueError(
                f"unknown mode {mode!r} for positions out of bounds; use one of {known}"
            ) from None


CLIP, FILL_OR_DROP, PROMISE_IN_BOUNDS = GatherScatterMode
_MODES = {
    "clip": CLIP, "fill": FILL_OR_DROP, "drop": FILL_OR_DROP, "promise_in_bounds": PROMISE_IN_BOUNDS,
    None: FILL_OR_DROP,
}  # fmt: skip


class GatherDimensionNumbers(NamedTuple):
    """Which dimension of a gather is what.

    offset_dims: dimensions of the result that run over the window. collapsed_slice_dims: dimensions of the
    operand, of window size 1, that the result lacks. start_index_map: for each entry of an index vector, the
    dimension of the operand it positions. operand_batching_dims, start_indices_batching_dims: paired
    dimensions that run together.

    Example:
      >>> numbers = lax.GatherDimensionNumbers((), (0,), (0,))
      >>> lax.gather(rnp.arange(5.0), rnp.array([[3], [1]]), numbers, (1,))
      Array([3., 1.], dtype=float32)
    """

    offset_dims: tuple
    collapsed_slice_dims: tuple
    start_index_map: tuple
    operand_batching_dims: tuple = ()
    start_indices_batching_dims: tuple = ()


def gather_aval(
    x: ShapedArray,
    indices: ShapedArray,
    dimension_numbers: GatherDimensionNumbers,
    slice_sizes: tuple[int, ...],
    indices_are_sorted: bool,
    unique_indices: bool,
    mode: GatherScatterMode,
    fill_value: int | None,
) -> ShapedArray:
    numbers = dimension_numbers
    checks.accept("gather start_indices", checks.INTEGERS, indices)
    shown = f"gather from {x.str_short()} at {indices.str_short()}"
    if not indices.ndim:
        raise ShapeError(
            f"{shown}: start_indices needs at least one dimension, the last one holding index vectors"
        )
    dropped = (*numbers.collapsed_slice_dims, *numbers.operand_batching_dims)
    # One element of none, where there is no window to hold it: a batch of nothing.
    least = [int(d in dropped and 0 in indices.shape[:-1]) for d in range(x.ndim)]
    highest = tuple(map(max, x.shape, least))
    if len(slice_sizes) != x.ndim or any(not 0 <= s <= n for s, n in zip(slice_sizes, highest, strict=False)):
        raise ShapeError(
            f"{shown}: slice_sizes {slice_sizes} must have a size for each dimension of the operand, none "
            f"larger than the operand's {x.shape}"
        )
    checks.axes_valid("gather: collapsed_slice_dims and operand_batching_dims", dropped, x.ndim)
    check_index_map(
        shown, "start_index_map", numbers.start_index_map, x, indices, numbers.operand_batching_dims
    )
    check_batching(shown, x, indices, numbers.operand_batching_dims, numbers.start_indices_batching_dims)
    if any(slice_sizes[d] > 1 for d in dropped):
        raise ShapeError(
            f"{shown}: slice_sizes {slice_sizes} must be 1 along the dropped dimensions {dropped}"
        )
    in_order(shown, "collapsed_slice_dims", numbers.collapsed_slice_dims)
    in_order(shown, "operand_batching_dims", numbers.operand_batching_dims)
    window = [n for d, n in enumerate(slice_sizes) if d not in dropped]
    if len(window) != len(numbers.offset_dims):
        raise ShapeError(
            f"{shown}: the window keeps {len(window)} dimensions, offset_dims {numbers.offset_dims} places "
            f"{len(numbers.offset_dims)}"
        )
    rank = indices.ndim - 1 + len(window)
    checks.axes_valid("gather: offset_dims", numbers.offset_dims, rank)
    in_order(shown, "offset_dims", numbers.offset_dims)
    windows, outer = iter(window), iter(indices.shape[:-1])
    return x.update(shape=tuple([next(windows if d in numbers.offset_dims else outer) for d in range(rank)]))


def in_order(shown: str, name: str, dims: tuple[int, ...]) -> None:
    """Refuse dimensions that do not increase, as the compiler does."""
    if list(dims) != sorted(dims):
        raise ShapeError(f"{shown}: {name} {dims} must be sorted")


def check_index_map(
    shown: str,
    name: str,
    index_map: tuple[int, ...],
    x: ShapedArray,
    indices: ShapedArray,
    batching_dims: tuple[int, ...],
) -> None:
    """Refuse a map from index vectors to dimensions that is not one dimension, and no batching one, per
    entry.
    """
    if len(index_map) != indices.shape[-1]:
        raise ShapeError(
            f"{shown}: index vectors (the last dimension of the indices) are of length {indices.shape[-1]}, "
            f"{name} {index_map} places {len(index_map)}"
        )
    checks.axes_valid(f"{name} and batching dimensions", (*index_map, *batching_dims), x.ndim)


def check_batching(
    shown: str,
    x: ShapedArray,
    indices: ShapedArray,
    operand_dims: tuple[int, ...],
    indices_dims: tuple[int, ...],
) -> None:
    """Refuse batching dimensions that are not pairs of one size."""
    checks.axes_valid("batching dimensions of the indices", indices_dims, indices.ndim - 1)
    sizes = [x.shape[d] for d in operand_dims], [indices.shape[d] for d in indices_dims]
    if sizes[0] != sizes[1]:
        raise ShapeError(
            f"{shown}: paired batching dimensions have the sizes {sizes[0]} and {sizes[1]}; they must be "
            "equal"
        )


gather = Primitive(
    "gather", gather_aval, kinds=("indexed",), doc="windows of x at computed positions, side by side",
    parameters={
        "dimension_numbers": "lax.GatherDimensionNumbers: which dimensions of the result are windows, "
        "and where these begin in x",
        "slice_sizes": "tuple of int: the size of a window along each dimension of x",
        "indices_are_sorted": "bool: a promise that the indices ascend",
        "unique_indices": "bool: a promise that no two windows overlap",
        "mode": "lax.GatherScatterMode: what becomes of windows that do not lie within the array",
        "fill_value": "number or None: what is read outside of x with the mode FILL_OR_DROP; None: NaN, "
        "or the largest integer",
    },
)


# ----------------------------------------------------------------------------------------------- lowering
@gather.rule("lower")
def lower_gather(op: Site, x: str, indices: str) -> str:
    if not op.out.size:
        return op.constant(0, op.out)
    if op["mode"] is FILL_OR_DROP:
        return inlining.inline(op, lambda p, i: filled(op.params, p, i), [x, indices])
    numbers = op["dimension_numbers"]
    a, b = op.in_avals
    if op["mode"] is CLIP and op.is_cut_up and b.size:
        indices = moved_inside(op, indices, op["slice_sizes"], numbers.start_index_map)
    sizes = ", ".join(map(str, op["slice_sizes"]))
    attribute = (
        f"#stablehlo.gather<offset_dims = {int_list(numbers.offset_dims)}, "
        f"collapsed_slice_dims = {int_list(numbers.collapsed_slice_dims)}, "
        f"operand_batching_dims = {int_list(numbers.operand_batching_dims)}, "
        f"start_indices_batching_dims = {int_list(numbers.start_indices_batching_dims)}, "
        f"start_index_map = {int_list(numbers.start_index_map)}, index_vector_dim = {b.ndim - 1}>"
    )
    return op.emit(
        f'"stablehlo.gather"({x}, {indices}) <{{dimension_numbers = {attribute}, '
        f"indices_are_sorted = {str(op['indices_are_sorted']).lower()}, "
        f"slice_sizes = array<i64{':' if sizes else ''} {sizes}>}}> : ({a.mlir}, {b.mlir}) -> {op.out.mlir}"
    )


def moved_inside(op: Site, indices: str, window_sizes: Any, index_map: Any) -> Any:
    """The indices of a gather or a scatter, moved to where their windows lie inside: written once for all
    that ask, so that devices that need the indices of others get them once.
    """
    a, b = op.in_avals[:2]
    moved = lambda i: [clipped_starts(i, a.shape, window_sizes, index_map)]
    key = clipped_starts, indices, b, *[(a.shape[d], window_sizes[d]) for d in index_map]
    return op.once(key, lambda: op.inline(stage(moved, [b], op.primitive.name).jaxpr, [indices])[0])


def clipped_starts(
    indices: Value, operand_shape: Any, window_sizes: Any, index_map: Any
) -> Value:
    """Index vectors moved to where their windows lie inside."""
    aval = typeof(indices)
    highest = highest_starts(aval, operand_shape, window_sizes, index_map)
    return extremes.clamp(zeros.full_of_type(aval.strong(), 0), indices, highest)


def filled(params: dict[Any, Any], x: Value, indices: Value) -> Value:
    """A gather that reads ``fill_value`` outside, by one that clamps and a selection."""
    numbers, sizes = params["dimension_numbers"], params["slice_sizes"]
    fill = params["fill_value"] if params["fill_value"] is not None else default_fill(typeof(x).dtype)
    out = gather(x, indices, **{**params, "mode": CLIP, "fill_value": None})
    inside = in_bounds(indices, typeof(x).shape, sizes, numbers.start_index_map)
    aval = typeof(out)
    outer = tuple([d for d in range(aval.ndim) if d not in numbers.offset_dims])
    mask = shape.broadcast_in_dim(inside, shape=aval.shape, broadcast_dimensions=outer)
    return logic.select_n(mask, zeros.full_of_type(aval, fill), out)


def in_bounds(
    indices: Value, operand_shape: tuple[int, ...], window_sizes: tuple[int, ...], index_map: tuple[int, ...]
) -> Value:
    """For each index vector, whether its window lies inside the operand."""
    aval = typeof(indices)
    highest = highest_starts(aval, operand_shape, window_sizes, index_map)
    low_enough = logic.le(indices, highest)
    ok = low_enough
    if aval.kind == "i":
        ok = logic.bitwise_and(low_enough, logic.ge(indices, zeros.full_of_type(aval, 0)))
    return basic_reductions.reduce_and(ok, axes=(aval.ndim - 1,))


def highest_starts(
    aval: ShapedArray,
    operand_shape: tuple[int, ...],
    window_sizes: tuple[int, ...],
    index_map: tuple[int, ...],
) -> Value:
    """The last position where a window fits, for each entry of index vectors; an array like the indices."""
    most = dtypes.iinfo(aval.dtype).max
    limits = [operand_shape[d] - window_sizes[d] for d in index_map]
    column = ShapedArray((*aval.shape[:-1], 1), aval.dtype)
    columns = [
        of_symbolic(column, n) if is_symbolic((n,)) else zeros.full_of_type(column, min(n, most))
        for n in limits
    ]
    if not columns:
        return zeros.full_of_type(aval.strong(), 0)
    return columns[0] if len(columns) == 1 else shape.concatenate(*columns, dimension=aval.ndim - 1)


def of_symbolic(aval: ShapedArray, size: Any) -> Any:
    """An array of a type with a symbolic dimension's size in every place."""
    value = convert.convert_element_type(size.__jax_array__(), new_dtype=aval.dtype, weak_type=False)
    return shape.broadcast_in_dim(value, shape=aval.shape, broadcast_dimensions=())


def default_fill(dtype: DType) -> float:
    """What FILL_OR_DROP reads outside: NaN (0 where a float has none), for integers the smallest (signed) or
    largest (unsigned) value, True.
    """
    kind = dtypes.kind(dtype)
    if kind in "fc":
        return np.nan if dtypes.spec(dtype).nan else 0
    if kind == "b":
        return True
    if kind not in "iu":
        raise DTypeError(f"gather from {dtype}: there is no fill value of this dtype, use mode='clip'")
    return dtypes.iinfo(dtype).min if kind == "i" else dtypes.iinfo(dtype).max


# -------------------------------------------------------------------------------------------- derivatives
@gather.rule("jvp")
def jvp_gather(op: Op, x: Dual, indices: Dual) -> Dual:
    out = op(x.primal, indices.primal)
    if type(x.tangent) is Zero:
        return Dual(out, zero_tangent(typeof(out)))
    return Dual(out, _without_fill(op)(x.tangent, indices.primal))


def _without_fill(op: Op) -> Op:
    """The same gather, reading zero outside."""
    return op if op.params["mode"] is not FILL_OR_DROP else gather.op(**{**op.params, "fill_value": 0})


# ----------------------------------------------------------------------------------------------- batching
@gather.rule("batch")
def batch_gather(op: Op, x: Batched, indices: Batched) -> Batched:
    numbers, sizes = op.params["dimension_numbers"], op.params["slice_sizes"]
    offset = up(numbers.offset_dims)
    if indices.axis is None:
        # The batch dimension is one more dimension of every window.
        value = batching.move_axis(x.value, x.axis, 0)
        numbers = GatherDimensionNumbers(
            (0, *offset), up(numbers.collapsed_slice_dims), up(numbers.start_index_map),
            up(numbers.operand_batching_dims),
            numbers.start_indices_batching_dims,
        )  # fmt: skip
        sizes = (typeof(value).shape[0], *sizes)
        return Batched(gather(value, indices.value, **_with(op, numbers, sizes)), 0)
    places = batching.move_axis(indices.value, indices.axis, 0)
    if x.axis is None:
        numbers = numbers._replace(
            offset_dims=offset, start_indices_batching_dims=up(numbers.start_indices_batching_dims)
        )
        return Batched(gather(x.value, places, **_with(op, numbers, sizes)), 0)
    value = batching.move_axis(x.value, x.axis, 0)
    numbers = GatherDimensionNumbers(
        offset, up(numbers.collapsed_slice_dims), up(numbers.start_index_map),
        (0, *up(numbers.operand_batching_dims)),
        (0, *up(numbers.start_indices_batching_dims)),
    )  # fmt: skip
    sizes = (min(1, typeof(value).shape[0]), *sizes)
    return Batched(gather(value, places, **_with(op, numbers, sizes)), 0)


def _with(op: Op, numbers: GatherDimensionNumbers, sizes: tuple[int, ...]) -> dict[Any, Any]:
    # Indices that are unique or sorted in each example need not be so in all of them together.
    loose = {"indices_are_sorted": False, "unique_indices": False}
    return {**op.params, **loose, "dimension_numbers": numbers, "slice_sizes": sizes}


def up(dims: tuple[int, ...]) -> tuple[int, ...]:
    """Dimensions after one more was put in front."""
    return tuple([d + 1 for d in dims])


def take_along(x: Value, indices: Value, axis: int) -> Value:
    """Elements of ``x`` along ``axis``, at positions in range that are given for each place of the result.

    Example:
      >>> from rabbet.extend.rules import take_along
      >>> take_along(np.float32([[1, 2], [3, 4]]), np.int32([[1, 0]]), 0)
      Array([[3., 2.]], dtype=float32)
    """
    aval = typeof(indices)
    others = tuple([d for d in range(aval.ndim) if d != axis])
    numbers = GatherDimensionNumbers(
        offset_dims=(), collapsed_slice_dims=(axis,), start_index_map=(axis,), operand_batching_dims=others,
        start_indices_batching_dims=others,
    )  # fmt: skip
    return gather(
        x, shape.reshape(indices, new_sizes=(*aval.shape, 1)), dimension_numbers=numbers,
        slice_sizes=(1,) * aval.ndim,
        indices_are_sorted=False, unique_indices=False, mode=PROMISE_IN_BOUNDS, fill_value=None,
    )  # fmt: skip


__all__ = ["GatherDimensionNumbers", "GatherScatterMode", "gather", "take_along"]
