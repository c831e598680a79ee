"""Where ``rabbet.lax`` asks for a function that it has not: a plugin may provide it, as ``lax.map``.

The place is open until ``rabbet`` is composed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def nobody(name: str) -> Any:
    """No plugins: what ``find`` is until ``rabbet`` is composed."""
    raise AttributeError(f"module 'rabbet.lax' has no attribute {name!r}")


def no_names() -> list[str]:
    """No plugins: what ``names`` is until ``rabbet`` is composed."""
    return []


find = nobody
names = no_names


def use_finder(finder: Callable, lister: Callable) -> None:
    """Name the functions that find what a plugin provides, by its name in ``lax``, and that list such names.
    Called once, by composition.
    """
    global find, names
    find, names = finder, lister


__all__ = ["find", "names", "use_finder"]
