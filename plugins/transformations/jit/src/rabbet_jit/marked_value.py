"""The primitive ``marked_value``: its operand, whose operation carries attributes in the program's text."""

from rabbet.extend.primitive import Dual, Primitive

marked_value = Primitive(
    "marked_value", lambda x, attributes: x, kinds=("increasing", "linear", "elementwise"), operands=("x",),
    doc="x, with attributes on the operation that made it",
)  # fmt: skip


@marked_value.rule("lower")
def lower_marked_value(op, x):
    op.mark(x, dict(op["attributes"]))
    return x


@marked_value.rule("jvp")
def jvp_marked_value(op, x):
    """The mark is the value's; what computes its tangent has none."""
    return Dual(op(x.primal), x.tangent)


@marked_value.rule("transpose")
def transpose_marked_value(op, ct, x):
    return (ct,)


__all__ = ["marked_value"]
