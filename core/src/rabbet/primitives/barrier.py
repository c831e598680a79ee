"""Barriers: values that the compiler may not look through.

``keep_apart`` is what reverse mode puts on a cotangent that was added up from several uses. Without it XLA
on CPU fuses the whole chain of residual gradients into every consumer and computes it again in each, so that
compile time and running time grow with the square of a network's depth. On other platforms it is nothing.

``optimization_barrier`` is the user's: on every platform all of its operands are computed before any of its
results is used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rabbet.rules.payloads import Batched, Dual, Zero
from rabbet.rules.primitive import Primitive

if TYPE_CHECKING:
    from rabbet.lowering.operation import Site
    from rabbet.rules.operator import Op
    from rabbet.rules.payloads import Linear
    from rabbet.typing import Value

# Below this many elements computing again costs less than keeping.
WORTH_KEEPING = 1024

keep_apart = Primitive(
    "keep_apart",
    lambda x: x,
    kinds=("increasing", "linear", "elementwise", "distinct"),
    doc="x, kept apart from what made it by the compiler for CPUs",
)


@keep_apart.rule("lower")
def lower_keep_apart(op: Site, x: Any) -> Any:
    return x


@keep_apart.rule("lower:cpu")
def lower_keep_apart_on_cpu(op: Site, x: str) -> str:
    return op.emit(f"stablehlo.optimization_barrier {x} : {op.out.mlir}")


@keep_apart.rule("jvp")
def jvp_keep_apart(op: Op, x: Dual) -> Dual:
    return Dual(op(x.primal), op(x.tangent))


@keep_apart.rule("transpose")
def transpose_keep_apart(op: Op, ct: Value, x: Linear) -> tuple[Value, ...]:
    return (op(ct),)


optimization_barrier = Primitive(
    "optimization_barrier",
    lambda *xs: xs,
    multiple_results=True,
    kinds=("finite_slope", "distinct", "shapeless"),
    doc="the operands, all of which are computed before any of the results is used",
)


@optimization_barrier.rule("lower")
def lower_barrier(op: Site, *names: str) -> list[str]:
    types = ", ".join([a.mlir for a in op.out_avals])
    text = f"stablehlo.optimization_barrier {', '.join(names)} : {types}"
    return [op.emit(text)] if len(names) == 1 else op.emit_many(text, len(names))


@optimization_barrier.rule("jvp")
def jvp_barrier(op: Op, *duals: Any) -> Any:
    tangents = through_barrier(op, [d.tangent for d in duals])
    return [Dual(p, t) for p, t in zip(op(*[d.primal for d in duals]), tangents, strict=True)]


@optimization_barrier.rule("transpose")
def transpose_barrier(op: Op, cts: Any, *operands: Any) -> Any:
    return tuple(through_barrier(op, cts))


def through_barrier(op: Op, values: Any) -> Any:
    """Tangents or cotangents behind a barrier of their own; the symbolic zeros go around it."""
    moved = iter(op(*[v for v in values if type(v) is not Zero]))
    return [v if type(v) is Zero else next(moved) for v in values]


@optimization_barrier.rule("batch")
def batch_barrier(op: Op, *batched: Any) -> Any:
    outs = op(*[b.value for b in batched])
    return [Batched(out, b.axis) for out, b in zip(outs, batched, strict=True)]


@optimization_barrier.rule("memory")
def memories_behind_barrier(op: Op, *memories: Any) -> Any:
    return list(memories)
