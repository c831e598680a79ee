"""Where programs have to run: the shardings that their operations name (see ``Primitive.place``)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rabbet.program.jaxpr import bodies_of

if TYPE_CHECKING:
    from rabbet.program.jaxpr import Jaxpr
    from rabbet.rules.operator import Op


def places_of(op: Op) -> frozenset[Any]:
    """The shardings that an operator, or a program that it carries, names; a frozenset."""
    found = frozenset() if op.primitive.place is None else frozenset([op.params[op.primitive.place]])
    if not op.primitive.special:
        return found
    return found.union(*[places_in(body) for _, body in bodies_of(op)])


def places_in(jaxpr: Jaxpr) -> frozenset[Any]:
    """The shardings that a program names; found once.

    Example:
      >>> from rabbet.extend.passes import stage
      >>> from rabbet.extend.sharding import places_in
      >>> places_in(stage(lambda x: [lax.sin(x)], [rb.typeof(1.0)]).jaxpr)
      frozenset()
    """

    def found() -> frozenset[Any]:
        each = [e.op for e in jaxpr.equations if (p := e.op.primitive).special or p.place is not None]
        return frozenset().union(*[places_of(op) for op in each])

    return jaxpr.once("places", found)


__all__ = ["places_in", "places_of"]
