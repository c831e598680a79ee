"""So many compiled programs that the process would die of them.

Each program that is loaded takes memory mappings (3 for one sum, 6 to 25 as a rule, 1,900 for one of 900
operations; Linux, jaxlib 0.10 and 0.12), of which Python knows nothing. Linux gives a process
65,530 mappings by default, and at their end the compiler ends the process, without an exception. So now and
then Python is asked to look for programs that nobody can reach, which it would do too late by itself; and at
half of the mappings everything kept is forgotten, as by ``clear_caches``: what is still used is compiled
again, or loaded from disk. What bounds programs by bytes is in ``shared_programs``.
"""

from __future__ import annotations

import gc
import threading
import warnings
from collections.abc import Callable
from typing import Any

from rabbet.config.log_levels import logger
from rabbet.messages.signal_errors import raise_if_of_handler
from rabbet.messages.source_positions import stacklevel

EVERY = 64  # programs from one look at the mappings to the next
COLLECT_PART = 0.125  # of all mappings, or twice what the last collection left
PART = 0.5
MAPPINGS = "/proc/self/maps"
MOST = "/proc/sys/vm/max_map_count"


class Crowding:
    """Looks at the mappings now and then, and calls ``relieve`` when there are too many."""

    def __init__(
        self, mappings: Callable[..., Any], most: Callable[..., Any], collect: Callable[..., Any] = gc.collect
    ) -> None:
        self.mappings, self.most, self.collect = mappings, most, collect
        self.relieve = []
        self._lock = threading.Lock()
        self._loaded = 0
        self._every = EVERY
        self._collect_at = 0
        self._warned = False

    def one_more(self) -> None:
        """A program was loaded."""
        with self._lock:
            self._loaded += 1
            if self._loaded < self._every:
                return
            self._loaded = 0
        most, found = self.most(), self.mappings()
        if most is None or found is None:
            return
        if found > max(COLLECT_PART * most, self._collect_at):
            self.collect()
            found = self.mappings()
            self._collect_at = 2 * found
        if found <= PART * most:
            self._every = EVERY
            return
        for each in self.relieve:
            each()
        self.collect()
        left = self.mappings()
        said = "%d of %d memory mappings were in use: after programs were forgotten, %d"
        logger().info(said, found, most, left)
        if left <= PART * most:
            return
        self._every *= 2  # what the user holds cannot be forgotten: not every time anew
        if not self._warned:
            self._warned = True
            warnings.warn(
                f"this process uses {left} of the {most} memory mappings that Linux gives it, most of them "
                "for compiled programs that are still held; at their end it is killed without an exception\n"
                "  to fix: hold fewer compiled programs (jit(f).compile(), jitted functions), or raise "
                "vm.max_map_count (sysctl)",
                RuntimeWarning,
                stacklevel=stacklevel(),
            )


def mappings() -> Any:
    """How many memory mappings this process has, or None where that cannot be known."""
    try:
        with open(MAPPINGS, "rb") as file:
            return sum(block.count(b"\n") for block in iter(lambda: file.read(2**16), b""))
    except OSError as error:
        raise_if_of_handler(error)
        return None


def most_mappings() -> Any:
    """How many it may have, or None."""
    try:
        with open(MOST, "rb") as file:
            return int(file.read())
    except (OSError, ValueError) as error:
        raise_if_of_handler(error)
        return None


of_process = Crowding(mappings, most_mappings)
