"""Keeping derivatives out of branches that were not chosen.

Under vmap all branches of a `cond` run on all examples, and the results are selected. Where an example did
not choose a branch, the branch's cotangent is zero; but zero times an infinite derivative, as that of `log`
at 0, is NaN. So each branch takes operands that have a derivative only for the examples that chose it.

That makes an operand that all examples share one per example. It is done where the branch holds an operation
whose derivative can be infinite at finite values, and left out where it cannot be.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rabbet import dtypes, lax
from rabbet.extend.passes import Var, bodies_of
from rabbet.extend.primitive import Batched
from rabbet.extend.transform import typeof

if TYPE_CHECKING:
    from rabbet.extend.passes import Jaxpr
    from rabbet.typing import Value

# Kinds from which it follows that a derivative is finite where the value is.
TAME = frozenset(["linear", "bilinear", "structural", "indexed", "finite_slope"])


def guarded(index: Value, count: int, branch: Jaxpr, number: int, operands: list[Value]) -> list[Value]:
    """The operands of branch `number` of `count`, without a derivative for examples that chose another one.

    Args:
      index: the batched index, or a boolean.
    """
    wild = not is_tame(branch)
    chosen = None
    out = []
    for x in operands:
        shared = type(getattr(x, "payload", None)) is not Batched
        if dtypes.kind(typeof(x).dtype) in "fc" and (wild or not shared):
            if chosen is None:
                chosen = is_chosen(index, count, number)
            x = lax.select(chosen, x, lax.stop_gradient(x))
        out.append(x)
    return out


def is_chosen(index: Value, count: int, number: int) -> Value:
    """Whether an index, which is clamped to those there are, means branch `number`."""
    if dtypes.kind(typeof(index).dtype) == "b":
        return index if number else lax.bitwise_not(index)
    return lax.eq(lax.clamp(0, index, count - 1), number)


def is_tame(program: Jaxpr) -> bool:
    """Whether all derivatives in a program are finite where its values are."""

    def make() -> bool:
        for eqn in program.equations:
            if not any(type(x) is Var and dtypes.kind(x.aval.dtype) in "fc" for x in eqn.inputs):
                continue
            bodies = bodies_of(eqn.op)
            primitive = eqn.op.primitive
            if bodies:
                if not all(is_tame(body) for _, body in bodies):
                    return False
            elif TAME.isdisjoint(primitive.kinds) and any(
                dtypes.kind(v.aval.dtype) in "fc" for v in eqn.outputs
            ):
                return False
        return True

    return program.once("derivatives are finite", make)
