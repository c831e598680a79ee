"""Counts steps together, compiles anew now and then, and writes checkpoints; goes on whoever is killed.

An array over all devices holds the number of the step everywhere, which is compared after each one.
"""

import os
import sys

import numpy as np
import rabbet as rb
from rabbet.distributed import PeerLost
from rabbet.experimental import multihost_utils as utils
from rabbet.sharding import NamedSharding
from rabbet.sharding import PartitionSpec as P

STEPS, SIZE = 60, 12
slot = int(os.environ["RABBET_PROCESS_ID"])
print("started", flush=True)
rb.distributed.initialize(initialization_timeout=45, peer_timeout_seconds=15, step_timeout_seconds=60)
print("ready", flush=True)
checkpoints = rb.store.Checkpoints(sys.argv[1], keep=3, timeout_seconds=60)


def restored():
    """The step and the array of the last checkpoint that process 0 sees, in all."""
    step = int(utils.broadcast_one_to_all(np.int32(checkpoints.latest() or 0)))
    rows = NamedSharding(rb.make_mesh((rb.device_count(),), ("x",)), P("x"))
    if step:
        return step, checkpoints.load(step, shardings=rows)["x"]
    return 0, rb.device_put(np.zeros(SIZE, np.float32), rows)


def recovered():
    """The same after a loss; another one may come meanwhile."""
    while True:
        try:
            checkpoints.abandon()
            rb.distributed.reform(timeout_seconds=20)
            return restored()
        except PeerLost as error:
            print(f"slot {slot}: {error}", flush=True)
            if "without process" in str(error):
                raise


def program(number):
    """A program that is another one for each number, with an exchange."""
    return rb.jit(lambda x: (x + 1.0, rb.lax.reduce_sum(x * float(number), (0,))))


state = None
while state is None:
    try:
        state = restored()
    except PeerLost:
        state = recovered()
step, x = state
sizes = set()
while step < STEPS:
    try:
        if rb.distributed.joining():
            checkpoints.wait()
            rb.distributed.reform(timeout_seconds=20)
            step, x = restored()
            continue
        number = 2 + step // 7
        step_of = program(number)
        x, total = step_of(x)
        assert float(total) == number * SIZE * step, (float(total), number, step)
        step += 1
        for shard in x.addressable_shards:
            np.testing.assert_array_equal(shard.data, step)
        print("step", step, flush=True)
        if step % 5 == 0:
            checkpoints.save(step, {"x": x})
        sizes.add(rb.process_count())
    except (PeerLost, rb.store.CheckpointError) as error:
        print(f"slot {slot} at {step}: {error}", flush=True)
        step, x = recovered()
try:
    checkpoints.wait()
except rb.store.CheckpointError as error:  # of one that was lost just now
    print(error)
rb.distributed.shutdown()
print(f"slot {slot} has done {step}, in groups of {sorted(sizes)}")
