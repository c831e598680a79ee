"""Exceptions on their way through the runtime below, which passes on text only.

What a callback raises is put aside under a number. The number is part of the text that arrives where the
program was started or its result is read, and there the exception is raised again as the object that it was.
"""

from __future__ import annotations

import copy
import itertools
import re
import threading
from collections import OrderedDict
from typing import Any

from rabbet.messages.signal_errors import is_of_handler
from rabbet.runtime.arrays import memory_exhausted
from rabbet.runtime.jaxlib.signals_in_callbacks import raised_at_the_door

# Those whose text never arrives, because nobody read the result, are dropped in the end.
MOST_WAITING = 64

_numbers = itertools.count()
_waiting = OrderedDict()
_told = OrderedDict()  # the numbers of those that somebody was told
_lock = threading.Lock()
_mark = re.compile(r"rabbet callback failure (\d+) of this process")


class CallbackFailure(Exception):
    """Raised to jaxlib in place of what a callback raised."""


def put_aside(error: BaseException | Exception) -> Exception:
    """Keep an exception; what to raise in its place."""
    number = next(_numbers)
    with _lock:
        _waiting[number] = error
        if len(_waiting) > MOST_WAITING:
            _waiting.popitem(last=False)
    return CallbackFailure(f"rabbet callback failure {number} of this process")


def original(error: Any) -> BaseException | Exception | None:
    """The exception that a callback raised, for the error that the runtime made of it; None if it is
    another error.
    """
    found = _mark.search(str(error))
    if found is None:
        return raised_at_the_door(str(error))
    number = int(found[1])
    with _lock:
        error = _waiting.get(number)
        if error is not None:
            _waiting[number] = _bare(error)
            _told[number] = True
            if len(_told) > MOST_WAITING:
                _told.popitem(last=False)
    return error


def was_told(error: Exception) -> bool:
    """Whether an error of the runtime is about what a callback raised, and somebody was told of it."""
    found = _mark.search(str(error))
    return found is not None and int(found[1]) in _told


def is_of_callback(error: Exception) -> bool:
    """Whether an error of the runtime is about what a callback raised of itself: no handler of a signal,
    which Python may have run meanwhile, has a part in it.
    """
    found = _mark.search(str(error))
    raised = _waiting.get(int(found[1])) if found is not None else None
    if not isinstance(raised, Exception):
        return False
    while raised is not None and not is_of_handler(raised):
        raised = raised.__cause__ or raised.__context__
    return raised is None


def _bare(error: BaseException | Exception) -> BaseException | Exception:
    """An equal exception for whoever reads the same result later. The one that was raised has a traceback,
    with whatever the frames of the callback and of its callers hold: that is not kept alive from here.
    """
    try:
        return copy.copy(error)
    except Exception:  # a class whose arguments are others than those that it was made of
        bare = Exception.__new__(type(error), *error.args)
        bare.__dict__.update(error.__dict__)
        return bare


def translated(function: Any, *args: Any) -> Any:
    """``function(*args)``; where that fails because a callback raised, what the callback raised."""
    try:
        return function(*args)
    except Exception as error:
        failure = behind(error)
        if failure is None:
            raise
    # Outside of the handler, which would become part of the exception's story.
    raise failure


def behind(error: Exception) -> Any:
    """What to raise for an error of the runtime: what a callback raised, or that memory ran out, and what is
    in it. None: the error itself.
    """
    return original(error) or out_of_memory(error)


def out_of_memory(error: Exception) -> Exception | None:
    """What to raise for an error that says that memory ran out while something was computed or copied; None
    if it is another error.
    """
    if not memory_exhausted.is_exhausted(error):
        return None
    return memory_exhausted.explained(
        error, "computing or copying an array", memory_exhausted.devices_in_use()
    )


__all__ = ["CallbackFailure", "behind", "is_of_callback", "original", "put_aside", "translated", "was_told"]
