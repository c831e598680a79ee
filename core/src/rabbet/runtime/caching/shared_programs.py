"""Things made once per process: equal programs share what the compiler made of the first of them. And how
much memory those take that are kept.
"""

from __future__ import annotations

import gc
import itertools
import threading
import weakref
from collections.abc import Callable
from typing import Any

from rabbet.config import config
from rabbet.config.log_levels import logger

# No executable tells on a CPU what memory it takes. Measured for seven kinds of programs, of 7 to 111 kB as
# bytes: some 200 kB and 18 times these bytes, within a half (jaxlib 0.12, x86-64). What has no such form is
# estimated by its text, within a factor of three.
LEAST_BYTES, OF_CODE, OF_TEXT = 200_000, 18, 100

LOOK_PART = 1 / 8  # of the bound is loaded from one look to the next
KEEP_PART = 3 / 4  # of the bound stays when the others go

_clock = itertools.count()


def estimate(serialized: int, text: int) -> int:
    """How many bytes a program may take in memory.

    Args:
      serialized: how many it has in its serialized form; 0 where that is not known.
      text: the length of its module's text.
    """
    return LEAST_BYTES + (OF_CODE * serialized if serialized else OF_TEXT * text)


class Loaded:
    """An executable as it is shared: jaxlib's own objects cannot be referred to weakly.

    Attributes: ``exe``, ``origin``, ``key`` under which it is shared (None: by nobody), ``nbytes``, an
    estimate, and when it was ``made`` and ``asked`` for last, as counts of such events.
    """

    __slots__ = ("exe", "origin", "key", "nbytes", "made", "asked", "__weakref__")

    def __init__(self, exe: Any, origin: Any, key: Any = None, nbytes: Any = LEAST_BYTES) -> None:
        self.exe, self.origin, self.key, self.nbytes = exe, origin, key, nbytes
        self.made = self.asked = next(_clock)


class Shared:
    """Values by key, kept as long as somebody uses them.

    Threads that ask for one key at the same time wait for the first of them; other keys do not wait.
    """

    def __init__(self) -> None:
        self._values = weakref.WeakValueDictionary()
        self._gates = {}
        self._lock = threading.Lock()

    def get(self, key: tuple[Any, ...] | str, make: Callable[..., Any]) -> tuple[Any, ...]:
        """The value of ``key``, and whether it was there; else it is ``make()``.

        What ``make`` raises is raised, and whoever waited tries for itself.
        """
        with self._lock:
            value = self._values.get(key)
            if value is not None:
                value.asked = next(_clock)
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

    def clear(self) -> None:
        """Forget all values; those who use one keep it."""
        self._values.clear()

    def put_back(self, values: Any) -> None:
        """Remember some values again, where nobody has made others since."""
        with self._lock:
            for each in values:
                self._values.setdefault(each.key, each)


class Kept:
    """Adds up what the programs of the process take, and forgets those that were not used lately when they
    are too many.

    Nobody counts calls: that would cost time in each. When the programs are over the bound, all functions
    forget theirs, and the best part is held here until an eighth of the bound was loaded anew: functions that
    are called meanwhile find theirs again. The next time those come first that were found again, or were made
    again after they had gone, and of the others those that were loaded last.
    """

    def __init__(self, shared: Any, most: Any, collect: Any = gc.collect) -> None:
        self.shared, self.most, self.collect = shared, most, collect
        self.relieve = []
        self._lock = threading.RLock()  # a finalizer may run while it is held, and load a program
        self._alive = weakref.WeakSet()
        self._spared = ()
        self._new = 0
        self._forgot, self._gone = 0, set()  # when, and the keys of what went
        self._held = 0  # by users, when everything was forgotten the last time: that cannot be changed here

    def nbytes(self) -> int:
        """How many bytes the programs that live take, about."""
        with self._lock:
            return sum([each.nbytes for each in self._alive])

    def one_more(self, loaded: Loaded) -> None:
        """A program was loaded."""
        most = self.most()
        with self._lock:
            self._alive.add(loaded)
            if loaded.key in self._gone:
                loaded.made = 0  # it is found again
            self._new += loaded.nbytes
            if not most or self._new < LOOK_PART * most:
                return
            self._new = 0
        self.release()
        if self.nbytes() > most + self._held:
            self.collect()
            found = self.nbytes()
            self._held = min(self._held, found)
            if found > most + self._held:
                self._forget(most, found)

    def release(self) -> None:
        """Hold no program here."""
        self._spared = ()

    def _merit(self, loaded: Any) -> Any:
        return loaded.asked > max(loaded.made, self._forgot), loaded.asked

    def _forget(self, most: Any, found: Any) -> None:
        with self._lock:
            best = sorted([x for x in self._alive if x.key is not None], key=self._merit, reverse=True)
        self._forgot = next(_clock)
        room = itertools.accumulate([each.nbytes for each in best])
        spared = [each for each, used in zip(best, room, strict=True) if used <= KEEP_PART * most]
        self._gone = {each.key for each in best[len(spared) :]}
        for each in self.relieve:
            each()
        self._spared = tuple(spared)
        self.shared.put_back(spared)
        del best
        self.collect()
        left, kept = self.nbytes(), sum([each.nbytes for each in spared])
        self._held = left - kept
        logger().info(
            "programs took about %d MB of memory: after those were forgotten that were not used lately, %d",
            found // 10**6, left // 10**6,
        )  # fmt: skip


# What was compiled, by device and by all that its code depends on.
shared = Shared()
kept_programs = Kept(shared, lambda: config.compiled_max_bytes)

__all__ = ["Kept", "Loaded", "Shared", "estimate", "kept_programs", "shared"]
