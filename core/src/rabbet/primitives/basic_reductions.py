"""How reductions over axes are made, and those that other families need: reduce_sum, and, or, xor."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from rabbet import dtypes
from rabbet.primitives import checks, layout, regions
from rabbet.primitives.attributes import int_array, int_list
from rabbet.primitives.checks import BITS, NUMBERS
from rabbet.primitives.no_tangent import no_tangent
from rabbet.rules.payloads import Batched, Dual
from rabbet.rules.primitive import Primitive
from rabbet.trace.interpreter import typeof

if TYPE_CHECKING:
    from rabbet.lowering.operation import Site
    from rabbet.program.avals import ShapedArray
    from rabbet.rules.operator import Op
    from rabbet.rules.payloads import Linear
    from rabbet.typing import DType, Value


def extreme(dtype: DType, largest: bool) -> float:
    """The largest or smallest value of a dtype: an infinity for floats that have one, and for both parts of
    complex.

    Example:
      >>> from rabbet.extend.rules import extreme
      >>> extreme(np.dtype("float32"), largest=True), extreme(np.dtype("int8"), largest=False)
      (inf, -128)
    """
    spec = dtypes.spec(dtype)
    return spec.highest if largest else spec.lowest


def reduction(
    name: str,
    hlo: str,
    accepts: str,
    start: Callable[..., Any],
    doc: str,
    *,
    kinds: tuple[str, ...] = (),
    of_complex: Primitive | None = None,
    in_parts: bool = True,
) -> Primitive:
    """Make a reduction primitive with the parameter ``axes``.

    Args:
      name: the primitive's name.
      hlo: the StableHLO operation that combines two elements.
      accepts: the dtype kinds that it takes.
      start: ``dtype -> `` the value that it starts with.
      of_complex: what combines two complex elements, where that is not ``hlo``.
      in_parts: whether several devices can each reduce a part: the CPU's collectives know no bitwise ones.
    """

    def abstract(x: ShapedArray, axes: tuple[int, ...]) -> ShapedArray:
        checks.accept(name, accepts, x)
        checks.axes_valid(name, axes, x.ndim)
        return x.update(shape=tuple([s for i, s in enumerate(x.shape) if i not in axes]))

    primitive = Primitive(name, abstract, kinds=("reduction", *kinds, "shapeless"), doc=doc)

    @primitive.rule("lower")
    def lower_reduction(op: Site, x: str) -> str:
        scalar = op.out.update(shape=())
        x = x if in_parts else op.whole(x, op.in_avals[0], op["axes"])
        init = op.constant(start(op.out.dtype), scalar)
        if of_complex is not None and dtypes.kind(scalar.dtype) == "c":
            head = f'"stablehlo.reduce"({x}, {init}) <{{dimensions = {int_array(op["axes"])}}}>'
            types = f": ({op.in_avals[0].mlir}, {scalar.mlir}) -> {op.out.mlir}"
            return regions.emit_pairs(op, head, of_complex, types)
        return op.emit(
            f"stablehlo.reduce({x} init: {init}) applies {hlo} across dimensions = "
            f"{int_list(op['axes'])} : ({op.in_avals[0].mlir}, {scalar.mlir}) -> {op.out.mlir}"
        )

    return primitive


def outside(op: Op, aval: ShapedArray) -> tuple[int, ...]:
    """The dimensions that a reduction keeps."""
    return tuple([d for d in range(aval.ndim) if d not in op.params["axes"]])


def spread_back(op: Op, value: Value, aval: ShapedArray) -> Value:
    """A reduced value repeated to the operand's shape."""
    return layout.broadcast_in_dim(value, shape=aval.shape, broadcast_dimensions=outside(op, aval))


reduce_sum = reduction(
    "reduce_sum",
    "stablehlo.add",
    NUMBERS,
    lambda dtype: 0,
    "the sum over axes",
    kinds=("increasing", "linear"),
)
reduce_and = reduction(
    "reduce_and", "stablehlo.and", BITS, lambda t: ~np.zeros((), t), "bitwise and over axes", in_parts=False
)
reduce_or = reduction("reduce_or", "stablehlo.or", BITS, lambda t: 0, "bitwise or over axes", in_parts=False)
reduce_xor = reduction(
    "reduce_xor", "stablehlo.xor", BITS, lambda t: 0, "bitwise exclusive or over axes", in_parts=False
)

for _primitive in (reduce_and, reduce_or, reduce_xor):
    _primitive.rule("jvp")(no_tangent)


@reduce_sum.rule("jvp")
def jvp_reduce_sum(op: Op, x: Dual) -> Dual:
    return Dual(op(x.primal), op(x.tangent))


@reduce_sum.rule("transpose")
def transpose_reduce_sum(op: Op, ct: Value, x: Linear) -> tuple[Value, ...]:
    return (spread_back(op, ct, x.aval),)


def gather_in(ct: Value, aval: ShapedArray) -> Value:
    """The cotangent of an operand that was spread from a scalar: summed; else ``ct`` itself."""
    have = typeof(ct)
    if have.shape == aval.shape:
        return ct
    return reduce_sum(ct, axes=tuple(range(have.ndim)))


def batch_reduction(op: Op, x: Batched) -> Batched:
    """The batch rule of the kind ``reduction``: the axes move up past the batch dimension."""
    axes = tuple([a + (a >= x.axis) for a in op.params["axes"]])
    params = {**op.params, "axes": axes}
    out_axis = x.axis - sum(a < x.axis for a in axes)
    return Batched(op.primitive(x.value, **params), out_axis)


__all__ = [
    "batch_reduction", "extreme", "gather_in", "outside", "reduce_and", "reduce_or", "reduce_sum",
    "reduce_xor", "reduction", "spread_back",
]  # fmt: skip
