"""Where ``rabbet.lax`` asks for a function that it has not: a plugin may provide it, as ``lax.map``.

The place is open until ``rabbet`` is composed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rabbet.errors import MissingPluginError


def nobody(name: str) -> Any:
    """No plugins: what ``find`` is until ``rabbet`` is composed."""
    raise AttributeError(f"module 'rabbet.lax' has no attribute {name!r}")


def no_names() -> list[str]:
    """No plugins: what ``names`` is until ``rabbet`` is composed."""
    return []


find = nobody
names = no_names


def no_loops() -> tuple[list[Any], list[str]]:
    """No plugins: what ``loops`` is until ``rabbet`` is composed."""
    return [], []


loops = no_loops


def loops_keeping_few(who: str) -> Any:
    """What an installed package has for loops that keep few states for reverse mode.

    Raises:
      MissingPluginError: if there is none.
    """
    found, packages = loops()
    if not found:
        raise MissingPluginError(
            f"{who}: no installed package has loops that keep few states\n"
            f"  to fix: install {' or '.join(packages) or 'one'}, or leave out max_steps and checkpoints"
        )
    return found[0]


def use_loops(finder: Callable) -> None:
    """Name the function that finds what packages have for loops. Called once, by composition."""
    global loops
    loops = finder


def use_finder(finder: Callable, lister: Callable) -> None:
    """Name the functions that find what a plugin provides, by its name in ``lax``, and that list such names.
    Called once, by composition.
    """
    global find, names
    find, names = finder, lister


__all__ = ["find", "loops_keeping_few", "names", "use_finder", "use_loops"]
