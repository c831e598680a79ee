"""Arrays and jitted functions in many tasks and threads of ``asyncio`` at random: each value is right.

    python tools/check/fuzz/tasks.py --count 200

Each round is an event loop with some dozen tasks. A task computes, waits, hands arrays to other tasks, reads
them in threads, differentiates, opens blocks of settings, meets errors, is cancelled in the middle; new
functions are jitted by several at once. A fault: a wrong value, an error nobody made, a setting that stays, a
round that does not end.
"""

import argparse
import asyncio
import collections
import random
import sys

import numpy as np

ROUND_SECONDS = 120


class Round:
    """One event loop and what its tasks share."""

    def __init__(self, number):
        import rabbet as rb
        import rabbet.numpy as rnp

        self.rb, self.rnp = rb, rnp
        self.rng = random.Random(f"tasks {number}")
        self.counts, self.faults = collections.Counter(), []
        self.queue = asyncio.Queue()
        factor = self.rng.randrange(2, 9)
        self.shared = rb.jit(lambda x: rnp.sum(x * factor) + factor)  # all are the first to call it
        self.wanted = lambda x: np.float32(x.sum() * factor + factor)

    def same(self, what, found, wanted):
        self.counts[what] += 1
        if not np.array_equal(np.asarray(found), wanted):  # the numbers are such that sums are exact
            self.faults.append(f"{what}: {np.asarray(found)!r}, not {wanted!r}")

    async def step(self, rng):
        """One thing of a task."""
        rb, rnp = self.rb, self.rnp
        x = np.float32([rng.randrange(-16, 17) / 8 for _ in range(rng.choice([1, 3, 8]))])
        way = rng.randrange(9)
        if way == 0:
            self.same("call", self.shared(x), self.wanted(x))
        elif way == 1:
            found = await asyncio.to_thread(lambda: np.asarray(self.shared(x)))
            self.same("call in a thread", found, self.wanted(x))
        elif way == 2:
            y = self.shared(x)
            await asyncio.sleep(0)
            self.same("read later", await asyncio.to_thread(np.asarray, y), self.wanted(x))
        elif way == 3:
            await self.queue.put((self.rnp.asarray(x), x))
        elif way == 4 and not self.queue.empty():
            array, was = self.queue.get_nowait()
            self.same("from another task", array + 1, was + 1)
        elif way == 5:
            slope = await asyncio.to_thread(lambda: rb.grad(lambda x: rnp.sum(x * x))(x))
            self.same("derivative in a thread", slope, 2 * x)
        elif way == 6:
            n = rng.randrange(3)
            fresh = rb.jit(lambda x: x * n)  # traced in the middle of others
            self.same("new function", fresh(x), x * n)
        elif way == 7:
            with rb.enable_x64(True):
                wide = rnp.asarray(x.astype("float64"))
                inner = wide.dtype
                await asyncio.sleep(0)
            self.same("block of a setting", inner == np.float64, True)
        else:
            try:
                self.shared(object())
            except TypeError:
                self.counts["error"] += 1
            else:
                self.faults.append("an object was taken")

    async def task(self, seed):
        rng = random.Random(seed)
        for _ in range(rng.randrange(1, 6)):
            await self.step(rng)
            await asyncio.sleep(rng.choice([0, 0, 0.001]))

    async def main(self):
        tasks = [asyncio.create_task(self.task(self.rng.random())) for _ in range(self.rng.randrange(8, 40))]
        for task in tasks:
            if self.rng.random() < 0.15:
                await asyncio.sleep(0)
                task.cancel()
        for ended in await asyncio.gather(*tasks, return_exceptions=True):
            if isinstance(ended, asyncio.CancelledError):
                self.counts["cancelled"] += 1
            elif isinstance(ended, BaseException):
                self.faults.append(f"{type(ended).__name__}: {ended!s:.300}")


def main(argv=None):
    """Try as many rounds as were asked for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--from", dest="start", type=int, default=0)
    parser.add_argument("--count", type=int, default=50)
    options = parser.parse_args(argv)
    import rabbet as rb

    counts, faults = collections.Counter(), 0
    before = rb.config.enable_x64
    for number in range(options.start, options.start + options.count):
        one = Round(number)
        try:
            asyncio.run(asyncio.wait_for(one.main(), ROUND_SECONDS))
        except TimeoutError:
            one.faults.append("the round does not end")
        if rb.config.enable_x64 != before:
            one.faults.append("a setting stays")
        counts += one.counts
        faults += len(one.faults)
        for fault in one.faults:
            print(f"FOUND {number}: {fault}", flush=True)
    for what, count in sorted(counts.items()):
        print(f"{what}: {count}")
    print(f"{options.count} rounds, {faults} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
