"""Python functions that compiled programs call: what jaxlib is given for each, and how their errors travel.

jaxlib hands over views that are valid during the call, copies what comes back without looking at its type,
and turns an exception into text. So arguments are copied into arrays, the function itself checks its results
(see ``HostCallback``), and an exception is put aside under a number, which the text carries to where it is
raised again as the object that it was.
"""

import contextlib
import itertools
import re
import threading
from collections import OrderedDict

import numpy as np

from rabbet.current import Context, context
from rabbet.runtime.array import from_host

# Exceptions that wait for their text to arrive. Those of results that nobody read are dropped in the end.
MOST_WAITING = 64

_numbers = itertools.count()
_waiting = OrderedDict()
_lock = threading.Lock()
_mark = re.compile(r"rabbet callback failure (\d+) of this process")


class CallbackFailure(Exception):
    """Raised to jaxlib in place of what a callback raised."""


class _Running(threading.local):
    depth = 0


running = _Running()
"""``depth``: how many callbacks are running on this thread, one inside the other."""


@contextlib.contextmanager
def on_host():
    """The surroundings of user code that a program calls: no transformation is running, at nobody's line."""
    previous = context.interpreter, context.where
    context.interpreter, context.where = Context.interpreter, None
    running.depth += 1
    try:
        yield
    finally:
        running.depth -= 1
        context.interpreter, context.where = previous


def for_device(callback, device):
    """What jaxlib calls for a ``HostCallback`` of a program on ``device``."""
    n = callback.tokens
    before = (None,) * n

    def call(*views):
        try:
            with on_host():
                arrays = [
                    from_host(np.array(v), aval, device, False, private=True)
                    for v, aval in zip(views[n:], callback.in_avals, strict=True)
                ]
                return (*before, *callback.function(arrays))
        except BaseException as error:  # also KeyboardInterrupt: it travels like the others
            raise CallbackFailure(put_aside(error)) from None

    return call


def put_aside(error):
    """Keep an exception; the text by which ``original`` finds it."""
    number = next(_numbers)
    with _lock:
        _waiting[number] = error
        if len(_waiting) > MOST_WAITING:
            _waiting.popitem(last=False)
    return f"rabbet callback failure {number} of this process"


def original(error):
    """The exception that a callback raised, for the error that the runtime made of it; None if it is
    another error.
    """
    found = _mark.search(str(error))
    if found is None:
        return None
    with _lock:
        return _waiting.get(int(found[1]))


__all__ = ["CallbackFailure", "for_device", "on_host", "original", "put_aside", "running"]
