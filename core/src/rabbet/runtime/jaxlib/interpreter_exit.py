"""The end of the interpreter, while threads still compute.

Python ends daemon threads when they next ask for its lock. One that comes back from jaxlib then would unwind
C++ that cannot be unwound, and the process would abort instead of exiting. So before Python goes that far
(`atexit`, when ordinary threads have been waited for), every thread that is inside Rabbet gets a
`SystemExit`, none may enter any more, and those that are in jaxlib are waited for.
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import faulthandler
import signal
import sys
import threading
import time
import weakref
from typing import TYPE_CHECKING, Any

from rabbet.messages.source_positions import is_internal

if TYPE_CHECKING:
    from rabbet.runtime.platforms.clients import Clients

# A thread may do something else between two of its calls of Rabbet, or not be given a processor: so long no
# thread must have been seen inside. Threads that wait for others, by Python's own means, need not be watched.
QUIET_SECONDS = 0.25
WAITING = ("threading", "queue", "selectors", "concurrent.futures.thread", "multiprocessing.connection")
# A program may never end, and then its thread does not come back either.
MOST_SECONDS = 10.0
PAUSE = 0.002
COMPILE = "compile_text"  # of `adapter`

# Threads that nobody has to wait for: those of `interruptible`, which are idle then, or never come back.
excused: set = set()
# Threads of programs that were interrupted and go on.
lost: set = set()
# For as long a thread that comes back too late is held where it is; the interpreter needs less to end.
HELD_SECONDS = int(signal.SIGABRT)

begun: list = []  # the thread that ends the interpreter, once it does


def excuse_thread() -> None:
    """Say that nobody has to wait for this thread: it holds nothing when the interpreter ends.

    Example:
      >>> import threading
      >>> from rabbet.extend.backend import excuse_thread
      >>> watcher = threading.Thread(target=excuse_thread)
      >>> watcher.start()
    """
    excused.add(threading.get_ident())


def watch(clients: Clients) -> None:
    """Stop other threads when the interpreter ends. Called with the first client, once."""
    atexit.register(_stop, weakref.ref(clients))


def check() -> None:
    """Raise SystemExit in a thread that wants to start something while another one ends the interpreter."""
    if begun and threading.get_ident() != begun[0]:
        raise SystemExit


def _stop(reference: Any) -> None:
    left = True
    with contextlib.suppress(KeyboardInterrupt):  # who presses Ctrl-C again does not want to wait
        left = _stop_others(reference)
    if (lost or left) and sys.version_info < (3, 14) and sys.platform == "linux":
        _hold_aborts()


def _hold_aborts() -> None:
    """Let a thread that comes back from a program while Python ends sleep, in place of ending the process.

    Such a thread is taken down by `pthread_exit`, which unwinds C++ that must not be, and that calls
    `abort`. Python 3.14 holds it forever; here the handler of the signal does, for `HELD_SECONDS`: it is
    C's `sleep`, which takes the signal's number for seconds. What else aborts then does so afterwards.
    """
    faulthandler.disable()  # it would take its own handler away with ours
    libc = ctypes.CDLL(None)
    libc.signal.argtypes, libc.signal.restype = (ctypes.c_int, ctypes.c_void_p), ctypes.c_void_p
    libc.signal(signal.SIGABRT, ctypes.cast(libc.sleep, ctypes.c_void_p))
    with contextlib.suppress(OSError, AttributeError):  # else C++ says on stderr that the process ends
        ctypes.CDLL("libstdc++.so.6")._ZSt13set_terminatePFvvE(ctypes.cast(libc.abort, ctypes.c_void_p))


def _stop_others(reference: Any) -> bool:
    """Whether a thread is inside still, or may come to be in jaxlib: where arrays die, wherever that is."""
    me = threading.get_ident()
    if not _others(me):
        return False
    clients = reference()
    if clients is None or any(client.forked for client in clients.running()):
        return False
    begun.append(me)
    clients.forget()  # so that calls come by `check`
    told: set = set()
    deadline = time.monotonic() + MOST_SECONDS
    quiet_since = time.monotonic()
    compiling, inside = True, []  # the compiler comes to an end, however long it takes
    while (compiling or time.monotonic() < deadline) and time.monotonic() - quiet_since < QUIET_SECONDS:
        others = _others(me)
        compiling = any(_is_within(COMPILE, frame) for frame in others.values())
        inside = [thread for thread, frame in others.items() if _inside(frame)]
        if not inside and all(_waits(frame) for frame in others.values()):
            return False
        for thread in inside:
            if thread not in told:
                told.add(thread)
                ctypes.pythonapi.PyThreadState_SetAsyncExc(
                    ctypes.c_ulong(thread), ctypes.py_object(SystemExit)
                )
        if inside:
            quiet_since = time.monotonic()
        time.sleep(PAUSE)
    return bool(inside) or not all(_waits(frame) for frame in _others(me).values())


def _others(me: int) -> dict[Any, Any]:
    return {thread: frame for thread, frame in sys._current_frames().items() if thread not in (me, *excused)}


def _is_within(name: str, frame: Any) -> bool:
    while frame is not None:
        if frame.f_code.co_name == name:
            return True
        frame = frame.f_back
    return False


def _waits(frame: Any) -> bool:
    # In `run` it does not: it calls what was written in C, such as the method that empties a list of arrays.
    return frame.f_globals.get("__name__") in WAITING and frame.f_code.co_name != "run"


def _inside(frame: Any) -> bool:
    while frame is not None:
        file = frame.f_code.co_filename
        # To import something is not a computation: those frames are "<frozen importlib...".
        if not file.startswith("<") and is_internal(file, frame.f_globals.get("__name__")):
            return True
        frame = frame.f_back
    return False
