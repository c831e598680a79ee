"""Calls of native functions that a package provides for platforms which are not its own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


def nothing(platform: Any, targets: Any) -> None:
    """The default for ``NativeCalls.provide``: nothing to do."""


@dataclass(frozen=True)
class NativeCalls:
    """Native functions that programs of a package call, on platforms that other packages bring.

    A package says so by an entry point in the group ``rabbet.calls``.

    Args:
      name: the entry point's name.
      targets: the names under which the functions are called; one that ends in ``*`` stands for all that
        begin so.
      provide: ``provide(platform, targets)`` registers those of these names that a program calls, or makes
        ready what they need, before the program is compiled or loaded from the cache on disk.
      stable: whether programs that call them may be exported: the functions are there, and mean the same,
        wherever the platform is. Where that holds of one form of their ``backend_config`` alone, a function
        from the text of a call to that form.

    Example:
      >>> from rabbet.extend.native import NativeCalls
      >>> CALLS = NativeCalls("browning", ("browning_*",), stable=True)
      >>> CALLS.knows("browning_f32"), CALLS.knows("toasting")
      (True, False)
    """

    name: str
    targets: tuple[str, ...]
    provide: Callable[[str, frozenset], None] = nothing
    stable: bool | Callable[[str], str] = False

    def knows(self, target: str) -> bool:
        """Whether a function of this name is one of them."""
        return any(target == t or (t.endswith("*") and target.startswith(t[:-1])) for t in self.targets)


__all__ = ["NativeCalls"]
