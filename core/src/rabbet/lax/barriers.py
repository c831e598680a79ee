"""``optimization_barrier`` for pytrees."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rabbet import tree
from rabbet.primitives import barrier
from rabbet.runtime.arrays.values import array_or_tracer

if TYPE_CHECKING:
    from rabbet.typing import Value


def optimization_barrier(operand: Value) -> Any:
    """``operand``, a pytree of arrays, all of which are computed before any of the results is used.

    The compiler neither moves work across it nor finds that two computations, on its two sides, are equal.
    Derivatives go through a barrier of their own.

    Example:
      >>> lax.optimization_barrier((rnp.ones(2), rnp.zeros(2)))[0]
      Array([1., 1.], dtype=float32)
    """
    leaves, treedef = tree.flatten(operand)
    if not leaves:
        return operand
    return tree.unflatten(treedef, barrier.optimization_barrier(*[array_or_tracer(x) for x in leaves]))


__all__ = ["optimization_barrier"]
