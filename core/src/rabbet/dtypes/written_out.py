"""Whose dtype is it: one that the user's call writes out, or one that comes of its operands?"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import numpy as np

from rabbet.messages.source_positions import user_call


def is_written_out(dtype: Any, canonicalize: Callable[[Any], Any]) -> bool:
    """Whether the call of the user's line gives a dtype, as an argument or in what it closes over."""
    for value in user_call().f_locals.values():
        several = value.values() if type(value) is dict else value if type(value) is tuple else (value,)
        for x in several:
            if not isinstance(x, (type, str, np.dtype)) and not (callable(x) and hasattr(x, "dtype")):
                continue  # such as None and arrays, of which NumPy makes a dtype too
            with contextlib.suppress(Exception):  # most are no dtypes
                if canonicalize(x if isinstance(x, type) else np.dtype(x)) == dtype:
                    return True
    return False


__all__ = ["is_written_out"]
