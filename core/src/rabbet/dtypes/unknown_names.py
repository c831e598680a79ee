"""What to say of a dtype that nobody knows."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from rabbet.messages.spelling import nearest


def nobody(name: str) -> str | None:
    """No package is known."""
    return None


advice: Callable[[str], str | None] = nobody
"""What to type for a dtype whose package is not installed, or None: composition fills it in."""


def refusal(name: Any, own: Iterable[str], offered: Iterable[str]) -> TypeError:
    """The error for a name, or for what has none, beside the names of all that are installed."""
    names = list(dict.fromkeys([*own, *sorted(offered)]))
    close = nearest(name, names, n=2, cutoff=0.7) if isinstance(name, str) else []
    meant = f". Did you mean {' or '.join(map(repr, close))}?" if close else ""
    fix = advice(name) if isinstance(name, str) else None
    last = (
        f"to fix: {fix}"
        if fix
        else "a plugin may add it: `python -m rabbet plugins` lists those that are installed"
    )
    return TypeError(f"dtype {name!r} is not known{meant}\n  known: {', '.join(names)}\n  {last}")
