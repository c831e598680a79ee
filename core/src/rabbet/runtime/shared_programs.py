"""Things made once per process: equal programs share what the compiler made of the first of them."""

import threading
import weakref


class Loaded:
    """An executable as it is shared: jaxlib's own objects cannot be referred to weakly."""

    __slots__ = ("exe", "origin", "__weakref__")

    def __init__(self, exe, origin):
        self.exe, self.origin = exe, origin


class Shared:
    """Values by key, kept as long as somebody uses them.

    Threads that ask for one key at the same time wait for the first of them; other keys do not wait.
    """

    def __init__(self):
        self._values = weakref.WeakValueDictionary()
        self._gates = {}
        self._lock = threading.Lock()

    def get(self, key, make):
        """The value of ``key``, and whether it was there; else it is ``make()``.

        What ``make`` raises is raised, and whoever waited tries for itself.
        """
        with self._lock:
            value = self._values.get(key)
            if value is not None:
                return value, True
            gate = self._gates.setdefault(key, threading.RLock())  # a hook may compile something itself
        try:
            with gate:
                value = self._values.get(key)
                if value is not None:
                    return value, True
                value = self._values[key] = make()
                return value, False
        finally:
            with self._lock:
                self._gates.pop(key, None)

    def clear(self):
        """Forget all values; those who use one keep it."""
        self._values.clear()


__all__ = ["Loaded", "Shared"]
