"""The kernels of ``rabbet-kernels`` beside plain programs: norms, cross entropy, few bits, attention.

    python tools/check/kernels_beside_plain.py                                        # here: processor time
    python tools/check/on_gpu.py python tools/check/kernels_beside_plain.py           # on a GPU: by the clock

Prints a line for each: the largest difference, milliseconds of the kernel and of the plain program (the
least of several rounds in which they take turns), and their ratio. On the CPU kernels are what the language
makes of them there; ``rabbet-kernels`` uses plain programs there.
"""

import functools
import sys
import time
from pathlib import Path

import numpy as np
import rabbet as rb

sys.path.insert(0, str(Path(__file__).parents[2] / "tests/kernels"))

import of_library


def least(calls, clock, seconds=2.0):
    """The least time of each call in milliseconds; they take turns."""
    times, until = [[] for _ in calls], time.perf_counter() + seconds
    while len(times[0]) < 3 or time.perf_counter() < until:
        for call, found in zip(calls, times, strict=True):
            start = clock()
            rb.block_until_ready(call())
            found.append(1e3 * (clock() - start))
    return [min(found) for found in times]


def main():
    clock = time.process_time if rb.default_backend() == "cpu" else time.perf_counter
    for name, kernel, plain, arguments in of_library.beside_plain("small" in sys.argv):
        arrays = rb.device_put(arguments)
        functions = [rb.jit(kernel), rb.jit(plain)]
        ours, theirs = [np.asarray(f(*arrays)).astype("float64") for f in functions]
        apart = np.max(np.abs(ours - theirs)) / np.max(np.abs(theirs))
        mine, others = least([functools.partial(f, *arrays) for f in functions], clock)
        print(f"{name:26} {apart:8.1e} {mine:9.3f} {others:9.3f} ms {mine / others:6.2f}", flush=True)


if __name__ == "__main__":
    main()
