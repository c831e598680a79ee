"""The standard tables, and what their rules by kind are.

``lower`` lives with lowering. A law serves every primitive that declares its kind: an elementwise operation
batches by lining up its operands, a linear one is its own derivative, a bilinear one obeys the product
rule.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rabbet.lowering.module import lower
from rabbet.primitives import basic_reductions, batching, contracts, elementwise, layout, zeros
from rabbet.rules.payloads import Batched, Dual, Zero
from rabbet.rules.tables import Role, RuleTable
from rabbet.trace.interpreter import typeof

if TYPE_CHECKING:
    from rabbet.rules.operator import Op
    from rabbet.typing import Value

jvp = RuleTable(
    "jvp",
    doc="""(op, *duals) -> Dual, or a list of them; called when some tangent is not Zero

    Example:
      >>> from rabbet.extend.primitive import Dual
      >>> from rabbet.extend.transform import jvp
      >>> float(jvp.lookup(lax.sin)(lax.sin.op(), Dual(0.0, 2.0)).tangent)
      2.0
    """,
    roles=(Role.FORWARD,),
    contract=contracts.of_jvp,
)
transpose = RuleTable(
    "transpose",
    doc="""(op, cotangent, *operands) -> a cotangent per operand, None where it is not Linear

    Example:
      >>> from rabbet.extend.primitive import Linear
      >>> from rabbet.extend.transform import transpose
      >>> to_x, to_y = transpose.lookup(lax.mul)(lax.mul.op(), 1.0, Linear(rb.typeof(2.0)), 5.0)
      >>> float(to_x), to_y
      (5.0, None)
    """,
    roles=(Role.TRANSPOSES,),
    contract=contracts.of_transpose,
)
batch = RuleTable(
    "batch",
    doc="""(op, *batched) -> Batched, or a list of them; called when some operand has a batch axis

    Example:
      >>> from rabbet.extend.primitive import Batched
      >>> from rabbet.extend.transform import batch
      >>> columns, scale = Batched(np.ones((3, 4)), 1), Batched(2.0, None)
      >>> batch.lookup(lax.mul)(lax.mul.op(), columns, scale).axis
      1
    """,
    roles=(Role.BATCHES,),
    contract=contracts.of_batch,
)
collective = RuleTable(
    "collective",
    doc="""(op, *batched) -> Batched; the batch dimension is the axis that op communicates along

    Example:
      >>> from rabbet.extend.primitive import Batched, Primitive
      >>> from rabbet.extend.transform import collective
      >>> first = Primitive("first", lambda x, axis: x, axis="axis")
      >>> @first.rule("collective")
      ... def first_of_members(op, x):
      ...     return Batched(lax.index_in_dim(x.value, 0, x.axis, False), None)
      >>> float(collective.lookup(first)(first.op(axis="i"), Batched(np.float32([5, 2, 3]), 0)).value)
      5.0
    """,
)


@jvp.kind("bilinear")
def product_rule(op: Op, x: Dual, y: Dual) -> Dual:
    out = op(x.primal, y.primal)
    left = x.tangent if type(x.tangent) is Zero else op(x.tangent, y.primal)
    right = y.tangent if type(y.tangent) is Zero else op(x.primal, y.tangent)
    return Dual(out, zeros.spread(elementwise.add_tangents(left, right), typeof(out).shape))


@jvp.kind("structural", "linear")
def same_on_tangents(op: Op, *duals: Dual) -> Dual:
    out = op(*[d.primal for d in duals])
    return Dual(out, op(*[zeros.instantiate(d.tangent) for d in duals]))


@batch.kind("elementwise")
def line_up(op: Op, *operands: Batched) -> Batched:
    """All at one axis: nothing to move. Else every full-rank operand gets the batch dimension where the
    first has it.
    """
    axes = {b.axis for b in operands if b.axis is not None}
    if len(axes) == 1:
        (axis,) = axes
        ranks = {typeof(b.value).ndim for b in operands if b.axis is not None}
        if len(ranks) == 1 and all(b.axis is not None or typeof(b.value).ndim == 0 for b in operands):
            return _batched(op, op(*[b.value for b in operands]), axis)
    logical = [logical_shape(b) for b in operands]
    full = max(logical, key=len)
    if any(s and s != full for s in logical):  # let the shape rule say what does not fit
        op.out(tuple([typeof(b.value).update(shape=s) for b, s in zip(operands, logical, strict=True)]))
    size = batching.batch_size(*operands)
    axis = next(
        (b.axis for b, s in zip(operands, logical, strict=True) if b.axis is not None and s == full), 0
    )
    out = op(*[_placed(b, s, full, axis, size) for b, s in zip(operands, logical, strict=True)])
    return _batched(op, out, axis)


def _batched(op: Op, out: Value, axis: int) -> Any:
    return [Batched(o, axis) for o in out] if op.primitive.multiple_results else Batched(out, axis)


def logical_shape(b: Batched) -> tuple[int, ...]:
    """The shape of ``b`` without its batch dimension."""
    have = typeof(b.value).shape
    return have if b.axis is None else have[: b.axis] + have[b.axis + 1 :]


def _placed(b: Batched, logical: tuple[int, ...], full: tuple[int, ...], axis: int, size: int) -> Value:
    if logical == full:
        return batching.at_axis(b, axis, size)
    if b.axis is None:
        return b.value  # a plain scalar stays one
    spread = (*full[:axis], size, *full[axis:])
    return layout.broadcast_in_dim(b.value, shape=spread, broadcast_dimensions=(axis,))


lower.contract = contracts.of_lower

batch.kind("reduction")(basic_reductions.batch_reduction)

__all__ = ["batch", "collective", "jvp", "lower", "transpose"]
