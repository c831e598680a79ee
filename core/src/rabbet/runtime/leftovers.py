"""What jaxlib puts aside while it cannot release Python's objects: the call stacks that it notes with each
run of a program, the bytes that executables were loaded from.

It releases them itself only where it copies from and to the host. A loop that does neither would grow by some
100 to 300 bytes for each program that it runs.
"""

import gc

from rabbet.runtime import adapter


def free_leftovers():
    """Release what jaxlib put aside, call stacks above all. Takes 0.1 us.

    Rabbet does it with each garbage collection, and on a CPU once a second.

    Example:
      >>> from rabbet.extend.backend import free_leftovers
      >>> free_leftovers()
    """
    adapter.collect_garbage()


def free_with_garbage():
    """Do so with each garbage collection from now on."""
    if _with_garbage not in gc.callbacks:
        gc.callbacks.append(_with_garbage)


# It has the function at hand for the time when modules are taken down.
def _with_garbage(phase, info, free=adapter.collect_garbage):
    free()


AT_GARBAGE = _with_garbage.__code__

__all__ = ["free_leftovers", "free_with_garbage"]
