"""What jaxlib puts aside while it cannot release Python's objects: the call stacks that it notes with each
run of a program, the bytes that executables were loaded from.

It releases them itself only where it copies from and to the host. A loop that does neither would grow by some
100 to 300 bytes for each program that it runs.
"""

from __future__ import annotations

import collections
import functools
import gc

from rabbet.runtime.jaxlib import adapter


def free_leftovers() -> None:
    """Release what jaxlib put aside, call stacks above all. Takes 0.1 us.

    Rabbet does it with each garbage collection, and on a CPU once a second.

    Example:
      >>> from rabbet.extend.backend import free_leftovers
      >>> free_leftovers()
    """
    adapter.collect_garbage()


def free_with_garbage() -> None:
    """Do so with each garbage collection from now on."""
    if _with_garbage not in gc.callbacks:
        gc.callbacks.append(_with_garbage)


class _Freeing:
    """What frees when one of these attributes is read, which have the names of a collection's phases."""

    # Called with the object, it calls the function that it has at hand; the dict keeps its None.
    start = stop = property(collections.defaultdict(adapter.collect_garbage).__missing__)


# A function of Python's would be where signals are handled that came while garbage was collected, and threads
# are told to end: what is raised there is dropped. So it is `getattr(freeing, phase, info)`, all of it in C.
_with_garbage = functools.partial(getattr, _Freeing())

__all__ = ["free_leftovers", "free_with_garbage"]
