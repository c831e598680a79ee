"""Tokens: values without content that say what must have been computed.

Here a token is an array without elements, so that programs take and return it as any other value. Effects
have tokens of their own, which lowering writes.
"""

from __future__ import annotations

from typing import Any

from rabbet import lax, tree


class Token:
    """What ``create_token`` and ``after_all`` return; a pytree of one array without elements."""

    def __init__(self, mark: Any) -> None:
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
    return Token(lax.empty((0,), bool))


def after_all(*operands: Any) -> Token:
    """One token for several: it is there when all of them are.

    Raises:
      TypeError: for an operand that is not a token.

    Example:
      >>> lax.after_all(lax.create_token(), lax.create_token())
      Token()
    """
    for x in operands:
        if not isinstance(x, Token):
            raise TypeError(f"after_all takes tokens, as lax.create_token() makes them, got {x!r:.60}")
    if not operands:
        return create_token()
    return Token(lax.optimization_barrier([t.mark for t in operands])[0])


__all__ = ["Token", "after_all", "create_token"]
