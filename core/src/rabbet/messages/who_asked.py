"""Whether an operation was written by the user or by a library of Rabbet's own.

Settings that refuse what changes silently, such as ranks and dtypes, are about the user's operations: a
function of the library promises a result under each of them.
"""

from __future__ import annotations

import sys

LAYERS = (
    "rabbet.lax", "rabbet.primitives", "rabbet.rules", "rabbet.trace", "rabbet.program", "rabbet.dtypes",
    "rabbet.extend", "rabbet.messages", "rabbet.runtime", "rabbet.tree", "rabbet.passes", "rabbet.lowering",
    "rabbet.numpy.elementwise", "rabbet.numpy.products", "rabbet.numpy.support",
    "rabbet.numpy.mapped", "rabbet.numpy.shapes", "rabbet.numpy.indexing", "rabbet_jit",
)  # fmt: skip
"""What stands between the operation and whoever wrote it: ``x + y`` passes through several of them."""


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
        if own and name != "rabbet" and not _between(name):
            return True
        frame = frame.f_back  # type: ignore[assignment]
    return False


def _between(name: str) -> bool:
    return any(name == layer or name.startswith(layer + ".") for layer in LAYERS) and not name.startswith(
        "rabbet.lax.linalg"
    )


__all__ = ["LAYERS", "asked_by_library"]
