"""Rounds of everything that allocates, in many threads, for as long as asked; memory must stay flat.

    python tools/check/soak.py                            # ten minutes, 32 threads
    python tools/check/soak.py --seconds 60 --threads 8

A round compiles fresh functions, differentiates, maps, scans, calls Python from programs, raises exceptions
in the midst of tracing and keeps a tracer too long. Between rounds alarms cancel fresh loops without end,
while they are traced, compiled or run. The first third of the rounds fills caches and allocators. Of the
memory after each later round, the last ones may be at most 1% above the first ones: of what the process has,
and of what malloc has handed out. Where only the first grows, there are more holes in malloc's arenas, of
which threads have their own; with MALLOC_ARENA_MAX=1 there is one.
"""

import argparse
import ctypes
import gc
import os
import random
import signal
import statistics
import sys
import threading
import time
from pathlib import Path

import numpy as np
import rabbet as rb
import rabbet.numpy as rnp
from rabbet import lax

SIZE = 20_000
CANCELLED = 4  # loops after each round


def resident():
    """Megabytes of memory that the process has, after malloc gave back what it keeps."""
    gc.collect()
    if sys.platform == "linux":
        ctypes.CDLL(None).malloc_trim(0)
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6


class Handed(ctypes.Structure):
    """What glibc's mallinfo2 tells, in bytes."""

    _fields_ = [
        (name, ctypes.c_size_t)
        for name in "arena ordblks smblks hblks hblkhd usmblks fsmblks uordblks fordblks keepcost".split()
    ]


def in_use():
    """Megabytes that malloc has handed out; 0 where there is no glibc to tell."""
    ask = getattr(ctypes.CDLL(None), "mallinfo2", None) if sys.platform == "linux" else None
    if ask is None:
        return 0.0
    ask.restype = Handed
    told = ask()
    return (told.uordblks + told.hblkhd) / 1e6


def ruled(c):
    scaled = rb.custom_vjp(lambda x: x * c)
    scaled.defvjp(lambda x: (x * c, None), lambda saved, g: (g * c,))
    return scaled


def work(i):
    """One round of one thread. Whatever it captures is its own."""
    c = rnp.full(SIZE, i % 7 + 1.0)
    x = rnp.ones(SIZE)
    shape = rb.ShapeDtypeStruct((SIZE,), np.float32)
    rb.jit(lambda x: x * c + i % 5)(x)
    rb.grad(lambda x: (x * c).sum())(x)
    rb.jit(rb.grad(lambda x: ruled(c)(x).sum()))(x)
    rb.vmap(lambda x: x * c[0])(x)
    lax.scan(lambda carry, _: (carry * c, carry[0]), x, None, length=3)
    lax.cond(x[0] > 0, lambda: c, lambda: x)
    rb.jit(lambda x: rb.pure_callback(lambda v: np.asarray(v) + np.asarray(c), shape, x))(x)
    rb.grad(rb.checkpoint(lambda x: rnp.sin(x * c).sum()))(x)
    leaked = []
    for wrong in (lambda x: leaked.append(x) or (x * c).nothing, lambda x: float(x[0]), lambda x: 1 // 0):
        try:
            rb.jit(wrong)(x)
        except (AttributeError, TypeError, ZeroDivisionError):
            pass
    leaked.clear()
    host = np.asarray(x * c)
    rb.device_put(host).delete()
    rb.jit(lambda x: lax.fori_loop(0, 100, lambda i, v: v * 0.5, x), donate_argnums=0)(rnp.ones(SIZE))


class Enough(Exception):
    """What ends a loop without end."""


def cancel(seconds):
    """Begin a loop without end, which nothing but an alarm after so many seconds ends, and one each second
    later. The first has to, unless Python drops what its handler raises, as in finalisers.
    """
    raised, dropped = [], []

    def enough(*_):
        raised.append(seconds)
        raise Enough

    def drop(told):
        dropped.append(told.exc_type)

    x = rnp.ones(SIZE)
    handler, hook = signal.signal(signal.SIGALRM, enough), sys.unraisablehook
    try:
        sys.unraisablehook = drop
        signal.setitimer(signal.ITIMER_REAL, seconds, 1.0)
        rb.jit(lambda x: lax.while_loop(lambda v: v[0] < 2, lambda v: v * 0.5, x))(x)
        raise AssertionError("a loop without end has ended")
    except Enough:
        if len(raised) - dropped.count(Enough) != 1:
            raise AssertionError(f"alarms after {seconds} s were lost: {len(raised) - 1}") from None
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, handler)
        sys.unraisablehook = hook


def rounds(threads, seconds):
    """Memory after each round of all threads: what the process has, and what is in use."""
    found, errors, started, number = [], [], time.monotonic(), 0

    def run(i):
        try:
            work(i)
        except BaseException as error:
            errors.append(error)

    while time.monotonic() - started < seconds or len(found) < 6:
        running = [threading.Thread(target=run, args=(number * threads + k,)) for k in range(threads)]
        for thread in running:
            thread.start()
        for thread in running:
            thread.join()
        if errors:
            raise errors[0]
        if hasattr(signal, "SIGALRM"):
            # A fresh loop takes some tens of milliseconds until it runs.
            chance = random.Random(number)
            for _ in range(CANCELLED):
                cancel(chance.uniform(0.0001, 0.1))
        number += 1
        found.append((resident(), in_use()))
        has, uses = found[-1]
        print(f"round {number}: {has:.1f} MB, {uses:.2f} in use, {len(rb.live_arrays())} arrays", flush=True)
    return found


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--threads", type=int, default=32)
    parser.add_argument("--percent", type=float, default=1.0, help="how much memory may grow (1)")
    options = parser.parse_args()
    found = rounds(options.threads, options.seconds)
    settled = found[len(found) // 3 :]
    third = max(1, len(settled) // 3)
    grew = []
    for kind, values in zip(("of the process", "in use"), zip(*settled, strict=True), strict=True):
        before, after = statistics.median(values[:third]), statistics.median(values[-third:])
        grew.append(100 * (after / before - 1) if before else 0.0)
        ran = f"{len(found)} rounds, {options.threads} threads"
        print(f"{ran}, {kind}: {before:.2f} MB, then {after:.2f}: {grew[-1]:+.2f}%")
    return 1 if max(grew) > options.percent else 0


if __name__ == "__main__":
    sys.exit(main())
