"""What is current on this thread: the interpreter that the next operation speaks to, and the user's line
that asked for it.

This object is read on every bind, so it is one thread-local with class attributes as the defaults of a new
thread.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rabbet.runtime.evaluation import Evaluation


class Context(threading.local):
    """``interpreter``: who processes the next bind. ``where``: the user's ``(code, lasti)`` while a rule
    runs, else None. ``axes``: the named axes around, ``((name, size), ...)`` (see ``axes``). ``is_lowering``:
    whether a program is being lowered, when all that rules stage comes from the line ``where``.

    Example:
      >>> from rabbet.extend.transform import context
      >>> context.interpreter.describe(), context.where, context.axes
      ('evaluation', None, ())
    """

    interpreter: Any = None
    where: Any = None
    axes: tuple = ()
    is_lowering: bool = False

    def __reduce__(self) -> str:
        return "context"  # there is one; a function that refers to it can be sent to another process


context = Context()


def set_bottom(interpreter: Evaluation) -> None:
    """Name the interpreter that every thread starts with: evaluation. Called once, when ``rabbet`` is
    composed.
    """
    Context.interpreter = interpreter
