"""Whose value is it that becomes an array: one that a user's call gives, or one of the library's own?

Asked only while a ``transfer_guard`` is set: constants that the library's functions make on the host (the
numbers of a window, positions that depend on values) are its business, as a program's constants are.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import numpy as np

from rabbet import tree
from rabbet.messages.source_positions import is_internal

NUMBERS = (bool, int, float, complex, np.generic)


def is_given(size: int, numbers: bool) -> bool:
    """Whether the call that the user's line makes now gives a value of the host: an array of NumPy's or of
    another library, or a list or tuple of as many numbers as the array that is made has elements.

    Args:
      size: that many.
      numbers: whether a number that is an argument by itself counts too.
    """
    frame: Any = sys._getframe(1)
    call = frame
    while frame is not None and is_internal(frame.f_code.co_filename, frame.f_globals.get("__name__")):
        call, frame = frame, frame.f_back
    return any(_is_value(x, size, numbers) for x in _arguments(call))


def _arguments(frame: Any) -> Iterator[Any]:
    """The arguments of a call that runs, from its frame."""
    code, found = frame.f_code, frame.f_locals
    count = code.co_argcount + code.co_kwonlyargcount
    for i, name in enumerate(code.co_varnames[: count + bool(code.co_flags & 4) + bool(code.co_flags & 8)]):
        value = found.get(name)
        if i < count or not isinstance(value, (tuple, dict)):
            yield value
        else:  # *args, **kwargs
            yield from value.values() if isinstance(value, dict) else value


def _is_value(x: Any, size: int, numbers: bool) -> bool:
    if isinstance(x, NUMBERS):
        return numbers
    leaves = tree.leaves(x)
    if any(_is_host_array(leaf) for leaf in leaves):
        return True
    count = sum(isinstance(leaf, NUMBERS) for leaf in leaves)
    return count == size and count == len(leaves)


def _is_host_array(x: Any) -> bool:
    if isinstance(x, np.ndarray):
        return True
    if isinstance(x, NUMBERS):
        return False
    if isinstance(x, type) or hasattr(x, "aval"):
        return False
    return any(hasattr(type(x), name) for name in ("__array__", "__array_interface__", "__dlpack__"))


__all__ = ["is_given"]
