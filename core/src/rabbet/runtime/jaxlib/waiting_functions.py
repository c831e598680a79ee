"""Compiled functions for the CPU that wait for its first client, where jaxlib looks at them.

jaxlib would keep them until then itself. But of those that it keeps one that it refuses prevents the client,
and those behind it are forgotten.
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable

from rabbet.errors import PluginWarning
from rabbet.messages.source_positions import stacklevel

_waiting: list[tuple[str, Callable[[], None]]] | None = []  # None once there is a client
_lock = threading.Lock()
REFUSED: dict[str, str] = {}  # what was said against functions, by name


def waits(name: str, register: Callable[[], None]) -> bool:
    """Keep ``register`` until there is a client; False where there is one, and nothing is kept."""
    with _lock:
        if _waiting is None:
            return False
        _waiting.append((name, register))
        return True


def names() -> list[str]:
    """The names of those that wait."""
    return [name for name, _ in _waiting or ()]


def register_all() -> None:
    """Register what waits, now that there is a client; a warning names those that are refused."""
    global _waiting
    with _lock:
        waiting, _waiting = _waiting or [], None
        for name, register in waiting:
            try:
                register()
            except Exception as error:
                REFUSED[name] = str(error)
                text = f"the compiled function {name!r} cannot be called: {error}"
                warnings.warn(text, PluginWarning, stacklevel=stacklevel())
