"""``ragged_all_to_all``: runs of rows of differing lengths, exchanged between the members of a named axis.

Every member sees all operands and picks its rows: right everywhere, and fast enough while there is one
device.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from rabbet import lax
from rabbet.extend.primitive import gather, reduce_max, reduce_sum
from rabbet.extend.transform import typeof

from rabbet_collectives import functions
from rabbet_collectives.axis_names import one_name

if TYPE_CHECKING:
    from typing import Any

    from rabbet.typing import Value


def ragged_all_to_all(
    operand: Value,
    output: Any,
    input_offsets: Any,
    send_sizes: Any,
    output_offsets: Any,
    recv_sizes: Any,
    *,
    axis_name: Any,
    axis_index_groups: Any = None,
) -> Value:
    """Exchange runs of rows of differing lengths between the members of a named axis.

    With ``K`` runs per member, run ``k`` goes to member ``k // (K / members)``: rows ``input_offsets[k]`` to
    ``input_offsets[k] + send_sizes[k]`` of the sender's ``operand``, written from row ``output_offsets[k]``
    on into the receiver's ``output``.

    Args:
      operand: an array ``(N, ...)``.
      output: an array ``(M, ...)``, what stays where nothing is received.
      input_offsets, send_sizes, output_offsets: integer arrays ``(K,)`` about what this member sends.
      recv_sizes: an integer array ``(K,)``: how many rows each run received has.
      axis_name: the axis.
      axis_index_groups: groups of indices, of one size, that exchange within themselves.

    Returns:
      an array ``(M, ...)``.

    Example:
      >>> def exchange(rows, sizes):  # 2 members; each sends `sizes[k]` rows to member k
      ...     mine = lax.axis_index("i")
      ...     others = lax.all_gather(sizes, "i")  # others[a, b]: how many go from a to b
      ...     begin = rnp.cumsum(sizes) - sizes
      ...     place = (rnp.cumsum(others, 0) - others)[mine]
      ...     return lax.ragged_all_to_all(
      ...         rows, rnp.zeros(4), begin, sizes, place, others[:, mine], axis_name="i"
      ...     )
      >>> rows, sizes = rnp.array([[1.0, 2, 3], [4, 5, 6]]), rnp.array([[1, 2], [2, 1]])
      >>> rb.vmap(exchange, axis_name="i")(rows, sizes).tolist()
      [[1.0, 4.0, 5.0, 0.0], [2.0, 3.0, 6.0, 0.0]]
    """
    who = "ragged_all_to_all"
    pairs = [one_name(axis_name, who)]
    count = functions.count_of(pairs, functions.groups_of(axis_index_groups, pairs, who))
    runs = {typeof(v).shape for v in (input_offsets, send_sizes, output_offsets, recv_sizes)}
    ((length,),) = runs if len(runs) == 1 and len(next(iter(runs))) == 1 else [(0,)]
    if length == 0 or length % count:
        raise ValueError(
            f"{who}: offsets and sizes must be vectors of one length, a multiple of the {count} members that "
            f"communicate; got the shapes {sorted(runs)}"
        )
    own, into = typeof(operand), typeof(output)
    if (own.shape[1:], own.dtype) != (into.shape[1:], into.dtype):
        raise TypeError(f"{who}: rows of {own.str_short()} do not fit the output {into.str_short()}")

    def received(v):
        v = lax.convert_element_type(v, np.int32)
        return functions.all_to_all(v, axis_name, 0, 0, axis_index_groups=axis_index_groups, tiled=True)

    wide = (into.shape[0], length)
    targets, starts, sizes = [
        lax.broadcast_in_dim(v, wide, (1,))
        for v in (
            received(output_offsets),
            received(input_offsets),
            lax.convert_element_type(recv_sizes, np.int32),
        )
    ]
    everything = functions.all_gather(operand, axis_name, axis_index_groups=axis_index_groups)
    everything = lax.reshape(everything, (count * own.shape[0], *own.shape[1:]))
    row, run = lax.broadcasted_iota(np.int32, wide, 0), lax.broadcasted_iota(np.int32, wide, 1)
    hit = lax.bitwise_and(lax.ge(row, targets), lax.lt(row, targets + sizes))
    # Of runs that overlap, the last one counts.
    last = reduce_max(lax.select(hit, run, lax.full_like(run, -1)), axes=(1,))
    chosen = lax.eq(run, lax.broadcast_in_dim(last, wide, (0,)))
    place = (run // (length // count)) * own.shape[0] + starts + row - targets
    place = reduce_sum(lax.select(chosen, place, lax.full_like(place, 0)), axes=(1,))
    rows = gather(
        everything, place[:, None], slice_sizes=(1, *own.shape[1:]),
        dimension_numbers=lax.GatherDimensionNumbers(tuple(range(1, own.ndim)), (0,), (0,)),
        indices_are_sorted=False, unique_indices=False, mode=lax.GatherScatterMode.CLIP, fill_value=None,
    )  # fmt: skip
    known = lax.broadcast_in_dim(lax.ge(last, 0), into.shape, (0,))
    return lax.select(known, rows, output)


__all__ = ["ragged_all_to_all"]
