"""The primitive ``marked_value``: its operand, whose operation carries attributes in the program's text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rabbet.extend.primitive import Dual, Primitive

if TYPE_CHECKING:
    from rabbet.extend.primitive import Op
    from rabbet.extend.rules import Site

marked_value = Primitive(
    "marked_value", lambda x, attributes: x, kinds=("increasing", "linear", "elementwise"), operands=("x",),
    doc="x, with attributes on the operation that made it",
)  # fmt: skip


@marked_value.rule("lower")
def lower_marked_value(op: Site, x: str) -> str:
    op.mark(x, dict(op["attributes"]))
    return x


@marked_value.rule("jvp")
def jvp_marked_value(op: Op, x: Dual) -> Dual:
    """The mark is the value's; what computes its tangent has none."""
    return Dual(op(x.primal), x.tangent)


@marked_value.rule("transpose")
def transpose_marked_value(op: Op, ct: Any, x: Any) -> Any:
    return (ct,)


__all__ = ["marked_value"]
