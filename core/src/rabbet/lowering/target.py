"""What a program is written for."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from rabbet.rules.rule_sets import RuleSet


class Target(NamedTuple):
    """What a program is written for: a platform with what its backend says, and how it lies over devices.

    Args:
      platform: ``"cpu"``, ``"cuda"``, ...: which lowerings are used.
      backend_rules: the backend's own lowerings, or None.
      lacks: ``(op) -> why it cannot be written``, or None, as of a ``Backend``; None: nothing is lacking.
      python_call: the native function by which a program calls Python; None: it cannot.
      spread: over how many devices it runs, where the compiler cuts it up; else 0.
      like: the sharding of one of its arguments there, or None; rules for text find it as ``op.like``.
      manual: as ``Site.by_itself`` takes it, where all of the program is what each device computes by itself.
      symbolic: what knows symbolic dimensions: ``rules``, a ``RuleSet`` that is asked first, ``lacks(op)``,
        and ``size(op, dimension)``, which writes a dimension as an i32 and returns its name.
    """

    platform: str
    backend_rules: RuleSet | None = None
    lacks: Callable[[Any], str | None] | None = None
    python_call: str | None = None
    spread: int = 0
    like: Any = None
    manual: Any = None
    symbolic: Any = None

    def why_not(self, op: Any) -> str | None:
        """Why an operation of a program with symbolic dimensions cannot be written, or None."""
        return self.symbolic.lacks(op) or (None if self.lacks is None else self.lacks(op))


def target_of(target: Target | str) -> Target:
    """A target, of a platform that is only named too."""
    return Target(target) if isinstance(target, str) else target


__all__ = ["Target", "target_of"]
