"""The rules of dynamic slices that need ``gather`` and ``scatter``: batching."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rabbet.primitives import batching, gather, scatter, shape, zeros
from rabbet.primitives.dynamic import dynamic_slice, dynamic_update_slice
from rabbet.primitives.gather import CLIP, GatherDimensionNumbers
from rabbet.primitives.scatter import ScatterDimensionNumbers
from rabbet.rules.payloads import Batched
from rabbet.trace.interpreter import typeof

if TYPE_CHECKING:
    from rabbet.rules.operator import Op
    from rabbet.typing import Value


@dynamic_slice.rule("batch")
def batch_dynamic_slice(op: Op, x: Batched, *starts: Batched) -> Batched:
    sizes = op.params["slice_sizes"]
    if all(s.axis is None for s in starts):
        axis, n = x.axis, batching.batch_size(x)
        at = [s.value for s in starts]
        zero = zeros.full_of_type(typeof(at[0]).strong(), 0) if at else 0
        return Batched(
            dynamic_slice(
                x.value, *at[:axis], zero, *at[axis:], slice_sizes=(*sizes[:axis], n, *sizes[axis:])
            ),
            axis,
        )
    # Each example has positions of its own: those of one example become one row of gather indices.
    indices = gather_indices(starts)
    rank = len(sizes)
    dims = tuple(range(rank))
    numbers = GatherDimensionNumbers(offset_dims=dims, collapsed_slice_dims=(), start_index_map=dims)
    of_one = gather.gather.op(
        dimension_numbers=numbers, slice_sizes=tuple(sizes), indices_are_sorted=True, unique_indices=True,
        mode=CLIP,
        fill_value=None,
    )  # fmt: skip
    return gather.batch_gather(of_one, x, Batched(indices, 0))


def gather_indices(starts: tuple[Batched, ...]) -> Value:
    """Batched scalar positions as rows: an array ``[batch, number of dimensions]``."""
    columns = batching.at_front(*starts)
    columns = [shape.reshape(c, new_sizes=(*typeof(c).shape, 1)) for c in columns]
    return shape.concatenate(*columns, dimension=1)


@dynamic_update_slice.rule("batch")
def batch_dynamic_update_slice(op: Op, x: Batched, update: Batched, *starts: Batched) -> Batched:
    size = batching.batch_size(x, update, *starts)
    value = batching.at_axis(x, 0, size)
    if all(s.axis is None for s in starts):
        at = [s.value for s in starts]
        zero = zeros.full_of_type(typeof(at[0]).strong(), 0) if at else 0
        return Batched(op(value, batching.at_axis(update, 0, size), zero, *at), 0)
    indices = gather_indices(starts)
    dims = tuple(range(len(starts)))
    numbers = ScatterDimensionNumbers(
        update_window_dims=dims, inserted_window_dims=(), scatter_dims_to_operand_dims=dims
    )
    of_one = scatter.scatter.op(
        dimension_numbers=numbers, indices_are_sorted=True, unique_indices=True, mode=CLIP
    )
    return scatter.batch_scatter(of_one, Batched(value, 0), Batched(indices, 0), update)
