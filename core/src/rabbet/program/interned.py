"""One object for each key, as long as anybody holds it."""

from __future__ import annotations

import atexit
import functools
import os
import threading
import weakref
from collections.abc import Callable, MutableMapping
from typing import Any, TypeVar

T = TypeVar("T")


class Alive:
    """Objects by key, held weakly: code that compares them by identity holds one, and finds the same again.

    Example:
      >>> from rabbet.extend.sharding import Alive
      >>> alive, first = Alive(), frozenset([1])
      >>> alive.only("key", first) is alive.only("key", frozenset([1])) is first
      True
    """

    def __init__(self) -> None:
        self.objects: MutableMapping[Any, Any] = weakref.WeakValueDictionary()
        self._renew()
        atexit.register(self._hold)
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._renew)  # another thread of the parent may have held it

    def _renew(self) -> None:
        self._lock = threading.RLock()  # a finalizer may run while it is held, and ask again

    def _hold(self) -> None:
        # An object that dies afterwards would be looked for by its key, and a key may no longer be able to
        # compare itself with another of its hash: while modules are taken down, its names are None.
        with self._lock:
            self.objects = dict(self.objects.items())

    def get(self, key: Any) -> Any:
        """The object of a key, or None."""
        return self.objects.get(key)

    def only(self, key: Any, made: T) -> T:
        """The object of a key: ``made`` if there is none; threads that make one at a time get the same."""
        with self._lock:
            found = self.objects.get(key)
            if found is None:
                found = self.objects[key] = made
            return found


def interned(most: int) -> Callable[[Callable[..., T]], functools._lru_cache_wrapper[T]]:
    """Decorator of a function that makes one object for each key. The ``most`` that were asked for last are
    kept; of the others those that somebody holds, so that a process that goes on forever does not grow.
    """

    def decorate(make: Callable[..., T]) -> functools._lru_cache_wrapper[T]:
        alive = Alive()

        @functools.lru_cache(maxsize=most)
        @functools.wraps(make)
        def once(*key: Any) -> T:
            found = alive.get(key)
            return alive.only(key, make(*key)) if found is None else found

        return once

    return decorate


__all__ = ["Alive", "interned"]
