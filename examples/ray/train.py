"""Fit a line to points, data-parallel over the processes of a Ray cluster, one of which is lost on the way.

    python examples/ray/train.py --processes 2 --die-at 25 --out /tmp/line

Each step takes the gradient over all points, of which each process has its share; every ten steps a
checkpoint is written. After the loss all processes are started again and go on from the last checkpoint, so
the result is that of a run without a loss.
"""

import argparse
import os
import signal
from pathlib import Path

import numpy as np
import rabbet as rb
import rabbet.numpy as rnp
import rabbet_ray
from rabbet.sharding import NamedSharding
from rabbet.sharding import PartitionSpec as P

POINTS = 1200  # divisible by the numbers of processes that one tries


def points():
    """Points near y = 3 x - 1."""
    random = np.random.RandomState(0)
    x = random.uniform(-1, 1, POINTS).astype(np.float32)
    return x, (3 * x - 1 + 0.1 * random.normal(size=POINTS)).astype(np.float32)


def loss(line, x, y):
    """Mean squared distance."""
    return rnp.mean((line["slope"] * x + line["intercept"] - y) ** 2)


def train(folder, steps, die_at):
    """What each process does: the same under `rabbet launch`."""
    rb.distributed.initialize()
    mesh = rb.make_mesh((rb.device_count(),), ("data",))
    rows, everywhere = NamedSharding(mesh, P("data")), NamedSharding(mesh, P())

    @rb.jit
    def step(line, x, y):
        value, gradient = rb.value_and_grad(loss)(line, x, y)
        return rb.tree.map(lambda p, g: p - 0.3 * g, line, gradient), value

    checkpoints = rb.store.Checkpoints(folder, keep=2)
    begin = checkpoints.latest() or 0
    line = {"slope": np.zeros((), np.float32), "intercept": np.zeros((), np.float32)}
    line = checkpoints.load(begin, shardings=everywhere) if begin else rb.device_put(line, everywhere)
    print(f"begins at step {begin}, as one of {rb.process_count()} processes")
    x, y = (rb.device_put(each, rows) for each in points())
    for i in range(begin, steps):
        if i == die_at and rabbet_ray.attempt() == 0 and rb.process_index() == rb.process_count() - 1:
            os.kill(os.getpid(), signal.SIGKILL)
        line, value = step(line, x, y)
        if (i + 1) % 10 == 0:
            checkpoints.save(i + 1, line)
    checkpoints.wait()
    return {name: float(p) for name, p in line.items()}, float(value)


def main():
    """Train on Ray and print what process 0 has found."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--die-at", type=int, help="at this step the last process kills itself, once")
    parser.add_argument("--out", type=Path, required=True, help="for checkpoints; all machines must see it")
    args = parser.parse_args()
    found = rabbet_ray.run(train, args.out, args.steps, args.die_at, processes=args.processes)
    line, value = found[0]
    assert all(each == found[0] for each in found)
    print(f"y = {line['slope']:.3f} x {line['intercept']:+.3f}, loss {value:.4f}")


if __name__ == "__main__":
    main()
