"""Regions of operations, and the tokens that keep ordered effects in order through them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from rabbet.program.jaxpr import Jaxpr

if TYPE_CHECKING:
    from rabbet.program.avals import ShapedArray
    from rabbet.program.effects import Effect

TOKEN = "!stablehlo.token"


class Region(NamedTuple):
    """A program written as a region of an operation.

    Attributes:
      jaxpr: the program.
      names: values from outside that are its first inputs; the others are block arguments.
      takes: ordered effects whose tokens are further block arguments.
      gives: ordered effects whose tokens are further results; those that are not taken come from outside.
      stops: whether its first result is looked up in the table of ``stopping``.
    """

    jaxpr: Jaxpr
    names: list
    takes: tuple = ()
    gives: tuple = ()
    stops: bool = False


def types_of(avals: list[ShapedArray] | tuple[ShapedArray, ...], effects: tuple[Effect, ...] = ()) -> Any:
    """The StableHLO types of arrays, then those of the tokens of ``effects``, with commas between."""
    return ", ".join([*[a.mlir for a in avals], *[TOKEN] * len(effects)])


class Tokens:
    """The current token of each ordered effect, while a function is written."""

    def __init__(self, where: str, given: dict[Any, Any]) -> None:
        self.where = where
        self.held = dict(given)

    def __getitem__(self, effect: Effect) -> str:
        if effect not in self.held:
            raise NotImplementedError(
                f"the ordered effect {effect.name!r} cannot happen inside {self.where}, whose order of "
                "steps is not fixed; it can inside cond, while_loop, scan and calls"
            )
        return self.held[effect]

    def within(self, region: Region, taken: Any, where: str) -> Tokens:
        """The tokens inside a region; ``taken`` are the names of those that it takes."""
        inner = {e: self[e] for e in region.gives if e not in region.takes}
        return Tokens(where, {**inner, **dict(zip(region.takes, taken, strict=True))})
