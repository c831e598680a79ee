"""Tokens: values without content that say what must have been computed.

Here a token is an array without elements, so that programs take and return it as any other value. Effects
have tokens of their own, which lowering writes (see ``runtime.effects``).
"""

from __future__ import annotations

from typing import Any

from rabbet import tree
from rabbet.lax.array_types import ArrayLike
from rabbet.lax.making import empty
from rabbet.primitives import barrier


class Token:
    """What ``create_token`` and ``after_all`` return; a pytree of one array without elements."""

    def __init__(self, mark: ArrayLike) -> None:
        self.mark = mark

    def block_until_ready(self) -> Token:
        """Wait until it is there; returns the token."""
        self.mark.block_until_ready()
        return self

    def __repr__(self) -> str:
        return "Token()"


tree.register_dataclass_node(Token, ["mark"], [])


def create_token(_: Any = None) -> Token:
    """A token that stands for nothing.

    Example:
      >>> lax.create_token()
      Token()
    """
    return Token(empty((0,), bool))


def after_all(*operands: Any) -> Token:
    """One token for several: it is there when all of them are.

    Raises:
      TypeError: for an operand that is no token.

    Example:
      >>> lax.after_all(lax.create_token(), lax.create_token())
      Token()
    """
    for x in operands:
        if not isinstance(x, Token):
            raise TypeError(f"after_all takes tokens, as lax.create_token() makes them, got {x!r:.60}")
    if not operands:
        return create_token()
    return Token(barrier.optimization_barrier(*[t.mark for t in operands])[0])


__all__ = ["Token", "after_all", "create_token"]
