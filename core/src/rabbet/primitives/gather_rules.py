"""The rule of ``gather`` that needs ``scatter``: its transposition."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rabbet.primitives import zeros
from rabbet.primitives.gather import gather
from rabbet.primitives.scatter import ScatterDimensionNumbers, scatter_add
from rabbet.rules.payloads import Linear
from rabbet.trace.interpreter import typeof

if TYPE_CHECKING:
    from rabbet.rules.operator import Op
    from rabbet.typing import Value


@gather.rule("transpose")
def transpose_gather(op: Op, ct: Value, x: Linear, indices: Value) -> tuple[Value | None, ...]:
    """Each element read gives its cotangent back to where it was read: a scatter that adds."""
    aval = x.aval if type(x) is Linear else typeof(x)
    numbers = op.params["dimension_numbers"]
    back = ScatterDimensionNumbers(
        numbers.offset_dims, numbers.collapsed_slice_dims, numbers.start_index_map,
        numbers.operand_batching_dims,
        numbers.start_indices_batching_dims,
    )  # fmt: skip
    of_x = scatter_add(
        zeros.full_of_type(aval.cotangent.update(dtype=typeof(ct).dtype, weak_type=False), 0), indices, ct,
        dimension_numbers=back,
        indices_are_sorted=op.params["indices_are_sorted"], unique_indices=op.params["unique_indices"],
        mode=op.params["mode"],
    )  # fmt: skip
    return of_x, None
