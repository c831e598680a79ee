"""How long a training step takes with data that are loaded beside it, and with data that it waits for.

    python benchmarks/loaders.py

A data set whose items take a while to read (they sleep, as one waits for a disk) feeds a training step,
through Grain's loader and PyTorch's, where they are installed. The ways take turns; printed is the least
time for a step.
"""

import argparse
import collections
import functools
import time

import numpy as np
import rabbet as rb
import rabbet.numpy as rnp

SIZE, WIDTH, ITEMS = 32, 1024, 32 * 24
READING = 0.0005  # seconds for an item


class Items:
    """A data set as both loaders take it."""

    def __len__(self):
        return ITEMS

    def __getitem__(self, i):
        time.sleep(READING)
        return np.full(WIDTH, i % 7, np.float32)


def ahead(batches, count=2, place=None):
    """The batches as arrays, ``count`` of them on their way to the device before they are asked for."""
    waiting = collections.deque()
    for batch in batches:
        waiting.append(rb.device_put(batch, place))
        if len(waiting) > count:
            yield waiting.popleft()
    yield from waiting


@rb.jit
def step(w, x):
    def loss(w):
        y = x
        for _ in range(4):
            y = rnp.tanh(y @ w)
        return rnp.mean(y**2)

    return w - 0.1 * rb.grad(loss)(w)


def plain():
    """No loader: reads a batch, and then computes with it."""
    items = Items()
    for start in range(0, ITEMS, SIZE):
        yield np.stack([items[i] for i in range(start, start + SIZE)])


def with_grain():
    import grain

    items = grain.MapDataset.source(Items()).to_iter_dataset(
        grain.ReadOptions(num_threads=16, prefetch_buffer_size=4 * SIZE)
    )
    return iter(items.batch(SIZE))


@functools.cache
def torch_loader():
    import torch

    loader = torch.utils.data.DataLoader(
        Items(),
        SIZE,
        num_workers=4,
        collate_fn=np.stack,
        multiprocessing_context="spawn",
        persistent_workers=True,
    )
    collections.deque(loader, 0)  # its processes take seconds to start
    return loader


def with_torch():
    return iter(torch_loader())


def run(batches, look_ahead, wait):
    """Milliseconds for a step, without the first ones."""
    w = rnp.eye(WIDTH)
    batches = ahead(batches) if look_ahead else map(rb.device_put, batches)
    started = 0.0
    for i, x in enumerate(batches):
        if i == 4:
            w.block_until_ready()
            started = time.perf_counter()
        w = step(w, x)
        if wait:
            w.block_until_ready()
    w.block_until_ready()
    return (time.perf_counter() - started) / (i - 3) * 1e3


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    ways = {
        "read, then compute": lambda: run(plain(), False, True),
        "read ahead": lambda: run(plain(), True, False),
    }
    for name, loader in (("Grain", with_grain), ("DataLoader", with_torch)):
        try:
            next(loader())
        except ImportError:
            continue
        ways[f"{name}, read ahead"] = lambda loader=loader: run(loader(), True, False)
    x = rnp.ones((SIZE, WIDTH))
    step(rnp.eye(WIDTH), x).block_until_ready()
    ways["no reading"] = lambda: run(iter([np.ones((SIZE, WIDTH), "f4")] * 24), True, False)
    least = collections.defaultdict(lambda: np.inf)
    for _ in range(options.rounds):
        for name, way in ways.items():
            least[name] = min(least[name], way())
    for name, value in least.items():
        print(f"{name:24s} {value:7.2f} ms a step")


if __name__ == "__main__":
    main()
