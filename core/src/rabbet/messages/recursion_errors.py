"""Recursion that does not end because a function is traced: what is said about Python's RecursionError."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from rabbet.messages.source_positions import is_internal, short_path

if TYPE_CHECKING:
    from rabbet.typing import Value

ENOUGH = 50  # calls of one function in a traceback: more than nested programs have


def note_of(error: Exception | Value) -> Any:
    """A note that names the user's function that calls itself, for a traceback that begins with Rabbet's
    frames; None for other errors.
    """
    if not isinstance(error, RecursionError):
        return None
    calls, traceback = Counter(), error.__traceback__
    while traceback is not None:
        frame, traceback = traceback.tb_frame, traceback.tb_next
        if not is_internal(frame.f_code.co_filename, frame.f_globals.get("__name__") or ""):
            calls[frame.f_code] += 1
    if not calls:
        return None
    code, count = calls.most_common(1)[0]
    if count < ENOUGH:
        return None
    where = f"{short_path(code.co_filename)}:{code.co_firstlineno}"
    return (
        f"{code.co_qualname} ({where}) calls itself without end while it is traced: values are not known "
        "then, and rabbet.numpy.where and lax.cond run both of their sides\n  to fix: end the recursion by a "
        "Python value (static_argnames), or write it as a loop, lax.while_loop"
    )


__all__ = ["note_of"]
