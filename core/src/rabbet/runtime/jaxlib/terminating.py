"""What a process says when jaxlib ends it because its coordinator is gone.

jaxlib tells Python of that by a value for which Python has no type, on a thread of its own: a C++ exception,
``std::bad_cast``, that nobody catches. C++ then calls a function that may not return. Here that one says what
happened; anything else goes to the function that was there before.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import sys
from collections.abc import Callable
from typing import Any

STATUS = 75  # "try again later", as in sysexits.h
BAD_CAST = b"St8bad_cast"

_kept: dict[str, Any] = {}  # what C++ refers to must not go away


def explain_end(explain: Callable[[], str]) -> None:
    """From now on, have a process that jaxlib ends in this way say ``explain()``, flush what it printed, and
    end with the status ``STATUS``. Where C++'s library is another one than on Linux, nothing changes.
    """
    _kept["explain"] = explain
    if "handler" in _kept or not sys.platform.startswith("linux"):
        return
    with contextlib.suppress(OSError, AttributeError):
        library = ctypes.CDLL("libstdc++.so.6")
        library._ZSt13set_terminatePFvvE.restype = ctypes.c_void_p
        library._ZSt13set_terminatePFvvE.argtypes = [ctypes.c_void_p]
        library.__cxa_current_exception_type.restype = ctypes.c_void_p
        _kept["library"] = library
        _kept["handler"] = ctypes.CFUNCTYPE(None)(terminated)
        before = library._ZSt13set_terminatePFvvE(ctypes.cast(_kept["handler"], ctypes.c_void_p))
        _kept["before"] = ctypes.CFUNCTYPE(None)(before) if before else os.abort


def terminated() -> None:
    """What C++ calls where it cannot go on. It does not return."""
    try:
        if thrown(_kept["library"]) == BAD_CAST:
            text = _kept["explain"]()
            for stream in (sys.stdout, sys.stderr):
                with contextlib.suppress(Exception):
                    stream.flush()
            os.write(2, f"{text}\n".encode())
            os._exit(STATUS)
    finally:
        _kept["before"]()
        os.abort()


def thrown(library: Any) -> bytes | None:
    """The name that C++ has for the type of the exception that nobody caught."""
    kind = library.__cxa_current_exception_type()
    if not kind:
        return None
    # A type_info is a pointer to its functions, then one to its name.
    name = ctypes.cast(kind, ctypes.POINTER(ctypes.c_char_p))[1]
    return name.lstrip(b"*") if name else None


__all__ = ["STATUS", "explain_end"]
