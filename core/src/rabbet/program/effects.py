"""What a program does besides computing its results.

An effect is a value that primitives declare (``Primitive(..., effects=...)``). Programs collect the effects
of their equations, so that nobody drops, repeats or reorders an equation that has one. The occurrences of an
*ordered* effect happen in the order of the program, through branches, loops and calls, and in the order in
which programs are started: lowering passes a token from one to the next.
"""

from __future__ import annotations

from typing import Any, NamedTuple


class Effect(NamedTuple):
    """One kind of effect.

    Attributes:
      name: unique; shown in programs.
      ordered: whether its occurrences keep their order.
      observes: whether it only looks at values, as printing does. It may then happen more often than the
        program says: in both branches of a ``cond`` that ``vmap`` turned into a selection, for instance.

    Example:
      >>> from rabbet.extend.primitive import Effect, Primitive
      >>> LOG = Effect("log", ordered=True)
      >>> log = Primitive("log_line", lambda x: (), multiple_results=True, effects=[LOG])
      >>> log.kinds
      ('effect',)
    """

    name: str
    ordered: bool = False
    observes: bool = False

    def __str__(self) -> str:
        return f"ordered {self.name}" if self.ordered else self.name


def ordered(effects: frozenset[Any]) -> Any:
    """The ordered ones among ``effects``, as the tuple in whose order their tokens are passed on."""
    return tuple(sorted([e for e in effects if e.ordered]))


def effect_names(effects: list[Effect] | frozenset[Any]) -> str:
    """Effects in words, sorted.

    Example:
      >>> from rabbet.extend.primitive import Effect, effect_names
      >>> effect_names({Effect("log", ordered=True), Effect("beep")})
      'beep, ordered log'
    """
    return ", ".join([str(e) for e in sorted(effects)])


NONE = frozenset()

__all__ = ["NONE", "Effect", "effect_names", "ordered"]
