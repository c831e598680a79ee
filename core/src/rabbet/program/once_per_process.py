"""One result for the whole process, whichever thread is the first to ask."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")


def made_once(make: Callable[..., T]) -> functools._lru_cache_wrapper[T]:
    """``functools.cache`` with one result for each key. That runs a function in several threads that ask at a
    time, with a result for each of them; here they all get the first one that is done.
    """
    made: dict[tuple, T] = {}

    @functools.cache
    @functools.wraps(make)
    def once(*key: Any) -> T:
        return made.setdefault(key, make(*key))

    return once


__all__ = ["made_once"]
