"""Whether an operation was written by the user or by a library of Rabbet's own.

Settings that refuse what changes silently, such as ranks and dtypes, are about the user's operations: a
function of the library promises a result under each of them.

Between an operation and whoever wrote it stand layers that pass it on: ``x + y`` goes through several. Such a
package, or a module, says of itself ``__passes_operations_on__ = True``; that holds for what is within it,
unless that says False.

``asking_function`` names the function of the library that the user called and that needed a value: the
outermost one of Rabbet's frames. Between it and the user stand frames of doors, of dispatch and of programs
that run, modules of ``BETWEEN``, which are never the function that somebody called.
"""

from __future__ import annotations

import functools
import inspect
import sys
from typing import Any

from rabbet.messages.source_positions import is_internal

MARK = "__passes_operations_on__"


BETWEEN = ("rabbet.runtime.", "rabbet.messages.")
"""Beginnings of the names of modules that only call what the user called."""


def asked_by_library() -> bool:
    """Whether the nearest function outside of the layers of an operation is one of Rabbet's libraries.

    Example:
      >>> from rabbet.messages.operation_origin import asked_by_library
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


def asking_function(value: Any, what: str) -> str:
    """Which of Rabbet's functions, called by the user, came to need a Python value of ``value``, and for
    which of its arguments: ``reshape (argument 'shape')``; ``what``, such as ``bool()``, where the
    user's own line did.
    """
    frame, found = sys._getframe(2), what
    while frame is not None:
        code, module = frame.f_code, frame.f_globals.get("__name__", "")
        if not is_internal(code.co_filename, module):
            return found
        if not module.startswith(BETWEEN) and not code.co_name.startswith(("_", "<")):
            count = code.co_argcount + code.co_kwonlyargcount + bool(code.co_flags & inspect.CO_VARARGS)
            for name in code.co_varnames[:count]:
                given = frame.f_locals.get(name)
                if name != "self" and (given is value or _holds(given, value)):
                    found = f"{code.co_name} (argument {name!r})"
        frame = frame.f_back  # type: ignore[assignment]
    return what


def _holds(given: Any, value: Any) -> bool:
    return isinstance(given, tuple | list) and any(x is value for x in given)


__all__ = ["MARK", "asked_by_library", "asking_function"]
