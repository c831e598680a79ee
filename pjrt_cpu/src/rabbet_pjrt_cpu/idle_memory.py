"""Freed memory that is idle goes back to the system, where malloc was told to keep what is freed.

A thread looks once a second at how much free memory malloc holds. Where the process rests, what is free goes
back. Where it works, only what is more than `MOST_KEPT` does, since a training loop is about to use the rest
again; and if that was used again soon after, the thread waits twice as long before it gives anything back the
next time. A look takes some 20 us, but a tenth of a second where memory is in a million pieces, as while a
large program compiles, and nobody can allocate meanwhile: so the thread rests for `REST` times as long as it
worked.
"""

import ctypes
import os
import threading
import time

from rabbet.extend.backend import excuse_thread, free_leftovers

SECONDS = 1.0
WORTH_IT = 64 << 20  # so much must be free to be given back at all
MOST_KEPT = 1 << 30  # and so much, where the process is at work
RESTING = 0.1  # the share of a processor that a process at rest may use
LONGEST_PAUSE = 300.0
REST = 100
SOON = 10  # "soon after" is within so many pauses


class Totals(ctypes.Structure):
    """What `mallinfo2` returns, from <malloc.h>."""

    _fields_ = [
        (name, ctypes.c_size_t)
        for name in "arena ordblks smblks hblks hblkhd usmblks fsmblks uordblks fordblks keepcost".split()
    ]


class Malloc:
    """glibc's totals. `OSError` or `AttributeError` where there are none (glibc before 2.33, no /proc)."""

    def __init__(self):
        library = ctypes.CDLL(None)
        self.totals, self.malloc_trim = library.mallinfo2, library.malloc_trim
        self.totals.argtypes, self.totals.restype = (), Totals
        self.malloc_trim.argtypes, self.malloc_trim.restype = (ctypes.c_size_t,), ctypes.c_int
        self.page = os.sysconf("SC_PAGE_SIZE")
        self.statm = os.open("/proc/self/statm", os.O_RDONLY | os.O_CLOEXEC)

    def look(self):
        """Bytes that are in use, and those that the process has besides: free ones, code, stacks."""
        resident = int(os.pread(self.statm, 100, 0).split()[1]) * self.page
        used = self.totals().uordblks
        return used, resident - used

    def give_back(self):
        """Give all pages that are free back to the system."""
        self.malloc_trim(0)


class Watch:
    """When to give memory back: `step` is called once a second.

    Args:
      malloc: with `look` and `give_back`.
      now, busy: functions that return seconds by the clock, and seconds of processor time.
    """

    def __init__(self, malloc, now=time.monotonic, busy=time.process_time):
        self.malloc, self.now, self.busy = malloc, now, busy
        self.used, self.rest = malloc.look()  # `rest`: what the process has besides if nothing is free
        self.free = 0
        self.seen = self.began = now(), busy()
        self.pause, self.gave = SECONDS, None

    def step(self):
        """Look, and give memory back if it is idle; return whether it did."""
        used, besides = self.malloc.look()
        now, busy = self.now(), self.busy()
        free = max(0, besides - self.rest)
        least = min(free, self.free)  # what was free before is free still
        passed, worked = now - self.seen[0], busy - self.seen[1]
        resting = used == self.used and worked <= RESTING * passed
        self.used, self.free, self.seen = used, free, (now, busy)
        if least < (WORTH_IT if resting else MOST_KEPT) or not self.is_due(now, resting):
            return False
        self.malloc.give_back()
        self.used, self.rest = self.malloc.look()
        self.free, self.gave = 0, now
        return True

    def is_due(self, now, resting):
        """Whether the last time is long enough ago. What came back soon after it was in use."""
        if self.gave is None or resting:
            return True
        since = now - self.gave
        if since < self.pause:
            return False
        self.pause = min(2 * self.pause, LONGEST_PAUSE) if since < SOON * self.pause else SECONDS
        return True


def pause_after(took):
    """The seconds until the next look, after one that took so much of a processor."""
    return min(max(SECONDS, REST * took), LONGEST_PAUSE)


def start():
    """Start the thread; return whether there is one."""
    try:
        watch = Watch(Malloc())
    except (AttributeError, OSError, ValueError):
        return False

    def run():
        excuse_thread()
        took = 0.0
        while True:
            time.sleep(pause_after(took))
            began = time.thread_time()
            free_leftovers()
            watch.step()
            took = time.thread_time() - began

    try:
        threading.Thread(target=run, name="rabbet-idle-memory", daemon=True).start()
    except RuntimeError:  # the interpreter exits, or the system has no more threads
        return False
    return True
