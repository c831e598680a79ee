"""Lowering one primitive by others, where only some of its forms need that (else: a decomposition)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from rabbet.trace.staging import stage

if TYPE_CHECKING:
    from rabbet.lowering.operation import Site


def inline(op: Site, parts: Callable[..., Any], names: list[str]) -> Any:
    """Write what ``parts`` computes in the place of an equation.

    Args:
      op: the lowering site.
      parts: from arrays of ``op``'s input types to the one result.
      names: the operands.

    Returns:
      the name of the result.

    Example:
      >>> from rabbet.extend.primitive import Primitive
      >>> from rabbet.extend.rules import inline
      >>> twice = Primitive("inlined_twice", lambda x: x)
      >>> @twice.rule("lower")
      ... def lower_twice(op, x):
      ...     return inline(op, lambda x: lax.add(x, x), [x])
      >>> twice(np.float32(2))
      Array(4., dtype=float32)
    """
    closed = stage(lambda *args: [parts(*args)], op.in_avals, op.primitive.name)
    return op.inline(closed.jaxpr, names)[0]
