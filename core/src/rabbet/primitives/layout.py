"""The two ways of laying out elements that every other family needs: broadcast_in_dim and transpose.

Their rules for differentiation and batching need other families, and stand in ``shape.py``.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from rabbet.errors import ShapeError
from rabbet.primitives.attributes import int_list
from rabbet.program.avals import ShapedArray
from rabbet.rules.primitive import Primitive

if TYPE_CHECKING:
    from rabbet.lowering.operation import Site


def lower_with(hlo: str, attributes: Callable[..., Any]) -> Callable[..., Any]:
    """A lowering ``hlo x, attributes : (in) -> out``."""

    def lower_structural(op: Site, x: str) -> str:
        out = op.emit(f"{hlo} {x}{attributes(op)} : ({op.in_avals[0].mlir}) -> {op.out.mlir}")
        return op.note_moved(out, x)

    return lower_structural


def broadcast_in_dim_aval(
    x: ShapedArray, shape: tuple[int, ...], broadcast_dimensions: tuple[int, ...]
) -> ShapedArray:
    if len(broadcast_dimensions) != x.ndim:
        raise ShapeError(
            f"broadcast_in_dim: {x.str_short()} has {x.ndim} dimensions, broadcast_dimensions "
            f"{broadcast_dimensions} has {len(broadcast_dimensions)} entries"
        )
    for size, dim in zip(x.shape, broadcast_dimensions, strict=True):
        if not 0 <= dim < len(shape) or size not in (1, shape[dim]):
            raise ShapeError(
                f"broadcast_in_dim: cannot broadcast {x.str_short()} to the shape {tuple(shape)} along "
                f"{tuple(broadcast_dimensions)}; each dimension must have size 1 or that of the result"
            )
    if any(a >= b for a, b in pairwise(broadcast_dimensions)):
        raise ShapeError(f"broadcast_in_dim: broadcast_dimensions {broadcast_dimensions} must increase")
    return ShapedArray(tuple(shape), x.dtype, x.weak_type)


broadcast_in_dim = Primitive(
    "broadcast_in_dim",
    broadcast_in_dim_aval,
    kinds=("structural",),
    doc="x repeated along new or size-1 dimensions",
    parameters={
        "shape": "tuple of int: that of the result",
        "broadcast_dimensions": "tuple of int: where each dimension of x goes, ascending",
    },
)
broadcast_in_dim.rule("lower")(
    lower_with("stablehlo.broadcast_in_dim", lambda op: f", dims = {int_list(op['broadcast_dimensions'])}")
)


def transpose_aval(x: ShapedArray, permutation: tuple[int, ...]) -> ShapedArray:
    if sorted(permutation) != list(range(x.ndim)):
        raise ShapeError(
            f"transpose: {tuple(permutation)} is not a permutation of the dimensions of {x.str_short()}"
        )
    return x.update(shape=tuple([x.shape[i] for i in permutation]))


transpose = Primitive(
    "transpose", transpose_aval, kinds=("structural", "shapeless"), doc="x with its dimensions permuted",
    parameters={"permutation": "tuple of int: for each dimension of the result that of x"},
)
transpose.rule("lower")(
    lower_with("stablehlo.transpose", lambda op: f", dims = {int_list(op['permutation'])}")
)


def inverse(permutation: Any) -> tuple[int, ...]:
    """The permutation that undoes ``permutation``."""
    out = [0] * len(permutation)
    for i, p in enumerate(permutation):
        out[p] = i
    return tuple(out)


__all__ = ["broadcast_in_dim", "inverse", "lower_with", "transpose"]
