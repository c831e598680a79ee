"""The primitive ``layout_constraint``: its operand, which the compiler lays in memory in an order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rabbet.extend.native import compiler_has
from rabbet.extend.primitive import Batched, Primitive

if TYPE_CHECKING:
    from rabbet.extend.primitive import Op
    from rabbet.extend.rules import Site

OF_PARTS = compiler_has("layouts of what is cut")

layout_constraint = Primitive(
    "layout_constraint", lambda x, order: x, kinds=("linear",), operands=("x",),
    doc="x, whose dimensions lie in memory in an order",
)  # fmt: skip


@layout_constraint.rule("lower")
def lower_layout_constraint(op: Site, x: str) -> str:
    """What XLA's layout assignment reads, on every platform; nothing where the compiler would gather a value
    that is cut over devices for it.
    """
    if op.is_cut_up and not OF_PARTS:
        return x
    order = (op["order"][::-1],)  # it lists the dimension with the smallest steps first
    (out,) = op.custom_call("LayoutConstraint", [x], [op.out], config="", layouts=(order, order))
    return out


@layout_constraint.rule("transpose")
def transpose_layout_constraint(op: Op, ct: Any, x: Any) -> Any:
    return (op(ct),)


@layout_constraint.rule("batch")
def batch_layout_constraint(op: Op, x: Batched) -> Batched:
    """The mapped dimension has the largest steps, so that each element lies as it was asked to."""
    order = (x.axis, *[d + (d >= x.axis) for d in op.params["order"]])
    return Batched(layout_constraint(x.value, order=order), x.axis)


@layout_constraint.rule("explicit")
def explicit_layout_constraint(op: Op, x: Any) -> Any:
    """Each device lays out its own part."""
    return x.entries


@layout_constraint.rule("memory")
def memory_of_layout_constraint(op: Op, memory: Any) -> list[Any]:
    return [memory]


__all__ = ["layout_constraint"]
