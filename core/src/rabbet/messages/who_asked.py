"""Whether an operation was written by the user or by a library of Rabbet's own.

Settings that refuse what changes silently, such as ranks and dtypes, are about the user's operations: a
function of the library promises a result under each of them.

Between an operation and whoever wrote it stand layers that pass it on: ``x + y`` goes through several. Such a
package, or a module, says of itself ``__passes_operations_on__ = True``; that holds for what is within it,
unless that says False.
"""

from __future__ import annotations

import functools
import sys

MARK = "__passes_operations_on__"


def asked_by_library() -> bool:
    """Whether the nearest function outside of the layers of an operation is one of Rabbet's libraries.

    Example:
      >>> from rabbet.messages.who_asked import asked_by_library
      >>> asked_by_library()
      False
    """
    frame = sys._getframe(1)
    while frame is not None:
        name = frame.f_globals.get("__name__", "")
        own = name.startswith(("rabbet.", "rabbet_")) or name == "rabbet"
        if not own and name not in ("functools", "contextlib"):
            return False
        if own and name != "rabbet" and not _passes_on(name):
            return True
        frame = frame.f_back  # type: ignore[assignment]
    return False


@functools.cache
def _passes_on(name: str) -> bool:
    """What a module, or the nearest package around it that says so, says of itself."""
    while name:
        said = vars(sys.modules[name]).get(MARK) if name in sys.modules else None
        if said is not None:
            return said
        name = name.rpartition(".")[0]
    return False


__all__ = ["MARK", "asked_by_library"]
