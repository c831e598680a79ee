"""Between arrays of an extended dtype, such as random keys, and the arrays that store them.

What an element of an extended dtype means is the business of the package that made the dtype. The core
moves such elements about, and lets that package look inside: ``to_physical`` and ``from_physical`` change
the type, not the memory.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rabbet import dtypes
from rabbet.lowering.extended_dtypes import EXTENDED, lowers_stored
from rabbet.primitives import batching
from rabbet.primitives.no_tangent import no_tangent
from rabbet.program.avals import ShapedArray
from rabbet.rules.payloads import Batched
from rabbet.rules.primitive import Primitive

if TYPE_CHECKING:
    from rabbet.lowering.operation import Site
    from rabbet.rules.operator import Op


def to_physical_aval(x: ShapedArray) -> ShapedArray:
    if not isinstance(x.dtype, dtypes.ExtendedDType):
        raise TypeError(
            f"to_physical takes an array of an extended dtype, such as random keys, got {x.str_short()}"
        )
    return x.physical


to_physical = Primitive(
    "to_physical", to_physical_aval, kinds=("shapeless",),
    doc="the array that stores x, an array of an extended dtype",
)  # fmt: skip


def from_physical_aval(x: ShapedArray, dtype: Any) -> ShapedArray:
    if not isinstance(dtype, dtypes.ExtendedDType):
        raise TypeError(f"from_physical makes arrays of an extended dtype, not of {dtype!r}")
    rank = len(dtype.physical_shape)
    lead, tail = x.shape[: x.ndim - rank], x.shape[x.ndim - rank :]
    if x.dtype != dtype.physical_dtype or tail != dtype.physical_shape or x.ndim < rank:
        stored = ShapedArray(dtype.physical_shape, dtype.physical_dtype).str_short()
        raise TypeError(
            f"from_physical: an element of {dtype} is stored as {stored}, got an array {x.str_short()}"
        )
    return ShapedArray(lead, dtype)


from_physical = Primitive(
    "from_physical", from_physical_aval, kinds=("shapeless",),
    doc="an array of the extended dtype that x stores",
    parameters={"dtype": "ExtendedDType: that of the result's elements"},
)  # fmt: skip

to_physical.rule(EXTENDED)(lowers_stored)
from_physical.rule(EXTENDED)(lowers_stored)
to_physical.rule("jvp")(no_tangent)
from_physical.rule("jvp")(no_tangent)


@to_physical.rule("lower")
def lower_to_physical(op: Site, x: str) -> str:
    return x


@from_physical.rule("lower")
def lower_from_physical(op: Site, x: str) -> str:
    return x


@to_physical.rule("batch")
def batch_to_physical(op: Op, x: Any) -> Any:
    return Batched(
        op(x.value), x.axis
    )  # the dimensions of storage come last, so the others keep their places


@from_physical.rule("batch")
def batch_from_physical(op: Op, x: Any) -> Any:
    return Batched(op(batching.move_axis(x.value, x.axis, 0)), 0)


__all__ = ["from_physical", "to_physical"]
