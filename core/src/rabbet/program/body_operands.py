"""Which operands of an operation the programs in it take, and what goes round in a loop."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from rabbet.messages import function_names
from rabbet.program.jaxpr import bodies_of

if TYPE_CHECKING:
    from rabbet.rules.operator import Op


class Feeds(NamedTuple):
    """What the rule ``feeds`` of a primitive that carries programs says of an operator.

    Args:
      places: from the parameter's name of each program, as ``bodies_of`` tells it, to the places of the
        operands that its inputs are. An operand that no program takes is read by the operation itself.
      rounds: of a loop, from the number of a result to the place of the operand that it is in the next round.
      decides: the names of the programs whose results are none of the operation's, as a loop's condition.

    Example:
      >>> from rabbet.extend.transform import Feeds
      >>> Feeds({"jaxpr": range(3)}, rounds={0: 1}).decides
      ()
    """

    places: Mapping[str, Sequence[int]]
    rounds: Mapping[int, int] = {}
    decides: tuple[str, ...] = ()


def feeds_of(op: Op) -> Feeds | None:
    """What the programs in an operation take; None if its primitive does not say, by a rule ``feeds``.

    Raises:
      TypeError: if what the rule says does not fit the programs.

    Example:
      >>> from rabbet.extend.passes import stage
      >>> from rabbet.extend.transform import feeds_of
      >>> closed = stage(lambda x: [lax.cond(x > 0, lax.sin, lax.cos, x)], [rb.typeof(1.0)])
      >>> feeds_of(closed.eqns[-1].op).places
      {'branches[0]': range(1, 2), 'branches[1]': range(1, 2)}
    """
    bodies = dict(bodies_of(op))
    rule = op.primitive.rules.get("feeds")
    if rule is None:
        if not op.primitive.is_call:
            return None
        return Feeds({name: range(len(body.invars)) for name, body in bodies.items()})
    found = rule(op)
    sizes = {name: len(body.invars) for name, body in bodies.items()}
    if type(found) is not Feeds or {name: len(at) for name, at in found.places.items()} != sizes:
        raise TypeError(
            f"the 'feeds' rule for primitive {op.primitive.name!r} ({function_names.address(rule)}) returned "
            f"{found!r:.200}; it returns a Feeds whose places say for each input of its programs, of "
            f"which there are {sizes}, which operand it is"
        )
    return found


__all__ = ["Feeds", "feeds_of"]
