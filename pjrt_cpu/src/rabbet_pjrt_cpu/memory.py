"""glibc's allocator, set for programs whose temporaries come back in the same sizes at every step, and for
small calls that come often.

XLA's CPU runtime takes its temporaries and outputs from malloc. As configured by default, glibc maps every
large block freshly and gives it back at once, so each step of a training loop faults in every page anew: a
sixth to a third of the step's time, measured. With the settings below freed memory stays in the heap and is
used again.

glibc puts small freed blocks into bins of their own and merges these with their neighbours whenever something
is freed beside a large top of the heap, which it always is then: a tenth of the time that executing a small
program takes. Without those bins blocks are merged as they are freed, which costs less.

The settings are process-wide. What stays free for a second goes back to the system, see `idle_memory`;
RABBET_CPU_ALLOCATOR=hold keeps all of it, RABBET_CPU_ALLOCATOR=default leaves malloc alone. They pay only
together with `make_cpu_client(asynchronous=False)`: the threads of an asynchronous client allocate from
arenas of their own, which glibc limits to 64 MiB and maps afresh beyond that. glibc reads such settings only
for allocations to come, so they are applied before the client is made.
"""

import ctypes
import functools
import os

from rabbet_pjrt_cpu import idle_memory

# From <malloc.h>.
M_MXFAST, M_TRIM_THRESHOLD, M_TOP_PAD, M_MMAP_MAX = 1, -1, -2, -4
SETTINGS = (
    (M_MMAP_MAX, 0),  # large blocks from the heap too, never a mapping of their own
    (M_TRIM_THRESHOLD, 2**31 - 1),  # do not give the top of the heap back (an int: this is the most)
    (M_TOP_PAD, 64 << 20),  # and let it grow by 64 MiB at a time
    (M_MXFAST, 0),  # no bins of small blocks
)


def is_glibc():
    """Return whether this process runs on glibc."""
    try:
        return (os.confstr("CS_GNU_LIBC_VERSION") or "").startswith("glibc")
    except (AttributeError, ValueError, OSError):
        return False


@functools.cache
def keep_freed_memory(while_idle=False):
    """Apply the settings, once per process; return whether glibc took them (False elsewhere).

    Args:
      while_idle: keep it also while the process rests; else a thread gives back what is free for a second.
    """
    if not is_glibc():
        return False
    mallopt = ctypes.CDLL(None).mallopt
    mallopt.argtypes, mallopt.restype = (ctypes.c_int, ctypes.c_int), ctypes.c_int
    taken = [mallopt(parameter, value) == 1 for parameter, value in SETTINGS]
    if not while_idle:
        idle_memory.start()
    return all(taken)
