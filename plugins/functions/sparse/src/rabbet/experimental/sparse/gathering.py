"""Slices of sparse arrays at computed places."""

from collections.abc import Sequence
from typing import Any

import rabbet as rb
import rabbet.numpy as rnp
from rabbet.experimental.sparse.base import JAXSparse, needs
from rabbet.experimental.sparse.structure import bcoo_dynamic_slice, bcoo_squeeze
from rabbet.extend.functions import fused


@fused(
    static=("dimension_numbers", "slice_sizes", "unique_indices", "indices_are_sorted", "mode", "fill_value")
)
def bcoo_gather(
    operand: JAXSparse, start_indices: Any, dimension_numbers: Any, slice_sizes: Sequence[int], *,
    unique_indices: bool = False, indices_are_sorted: bool = False, mode: Any = None, fill_value: Any = None,
) -> JAXSparse:  # fmt: skip
    """Slices of a BCOO, as ``lax.gather`` of an array; the dimensions of ``start_indices`` become batch ones.

    Args:
      operand: a BCOO.
      start_indices: where the slices start; the last dimension goes over ``start_index_map``.
      dimension_numbers: as for ``lax.gather``. The dimensions of the slices come after all others in the
        result, and there are no batching dimensions.
      slice_sizes: of each slice.
      unique_indices, indices_are_sorted: accepted, without effect.
      mode: slices that reach outside are moved inside (``clip`` and None), or it is promised that there are
        none; filling is not offered.
      fill_value: None alone.

    Raises:
      NotImplementedError: for what is not offered.

    Example:
      >>> numbers = lax.GatherDimensionNumbers((1,), (0,), (0,))
      >>> bcoo_gather(BCOO.fromdense(rnp.eye(3)), rnp.array([[2], [0]]), numbers, (1, 3)).todense()
      Array([[0., 0., 1.],
             [1., 0., 0.]], dtype=float32)
    """
    needs("BCOO", "bcoo_gather", operand)
    numbers = dimension_numbers
    start_indices = rnp.asarray(start_indices)
    outer = start_indices.ndim - 1
    offsets = tuple(range(outer, outer + operand.ndim - len(numbers.collapsed_slice_dims)))
    if tuple(numbers.offset_dims) != offsets or numbers.operand_batching_dims:
        raise NotImplementedError(
            f"bcoo_gather: offset_dims {tuple(numbers.offset_dims)} would put batch dimensions after sparse "
            f"ones; offered are {offsets}, that is advanced indices in front"
        )
    name = getattr(mode, "name", mode)
    if fill_value is not None or (
        name is not None and str(name).upper() not in ("CLIP", "PROMISE_IN_BOUNDS")
    ):
        raise NotImplementedError(
            f"bcoo_gather: mode {name} with fill_value {fill_value} is not offered; use 'clip'"
        )

    def one(start):
        starts: list[Any] = [0] * operand.ndim
        for k, d in enumerate(numbers.start_index_map):
            starts[d] = rnp.maximum(start[k], 0)
        cut = bcoo_dynamic_slice(operand, starts, slice_sizes)
        return bcoo_squeeze(cut, dimensions=numbers.collapsed_slice_dims)

    for _ in range(outer):
        one = rb.vmap(one)
    return one(start_indices)
