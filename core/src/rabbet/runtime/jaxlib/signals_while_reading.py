"""Ctrl-C while NumPy reads an array, and what handlers of other signals raise.

From Python 3.12 on, ``np.asarray(x)`` asks for ``x.__buffer__`` first. It drops whatever that raises, an
interrupt too, and asks for ``x.__array__``: that raises the interrupt again.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rabbet.typing import Value

pending: dict = {}  # by thread: the identity of the array, and what was raised


def remember(array: Any, error: Any) -> None:
    """Keep an interrupt that NumPy may drop; without its frames, which hold arrays."""
    pending[threading.get_ident()] = id(array), error.with_traceback(None)


def forget() -> None:
    """What this thread was told before was heard: somebody reads anew."""
    pending.pop(threading.get_ident(), None)


def tell(array: Value) -> None:
    """Raise what was dropped while this thread read this array."""
    of, error = pending.pop(threading.get_ident(), (None, None))
    if of == id(array):
        raise error


__all__ = ["forget", "pending", "remember", "tell"]
