"""Three processes: one is stopped by a signal, one ends by an exception instead of compiling; the first goes
on each time, and wakes the one that was stopped.
"""

import os
import signal
import time

import numpy as np
import pytest
import rabbet as rb
from rabbet.distributed import PeerLost
from rabbet.experimental import multihost_utils as utils
from rabbet.sharding import NamedSharding
from rabbet.sharding import PartitionSpec as P

rb.distributed.initialize(peer_timeout_seconds=10, step_timeout_seconds=600)
slot = int(os.environ["RABBET_PROCESS_ID"])
pids = utils.process_allgather(np.int32(os.getpid()))


def fresh():
    count = rb.device_count()
    sharding = NamedSharding(rb.make_mesh((count,), ("x",)), P("x"))
    return rb.make_array_from_callback((count,), sharding, lambda index: np.ones(count, np.float32)[index])


x, total = fresh(), rb.jit(lambda x: rb.lax.reduce_sum(x, (0,)))
assert float(total(x)) == 3

# --- one is stopped: its machine answers, its process does not
if slot == 1:
    os.kill(os.getpid(), signal.SIGSTOP)
    # and wakes up, when the others have formed a group without it
    with pytest.raises(PeerLost):
        while True:
            total(x)
            time.sleep(0.1)
    with pytest.raises(PeerLost, match="without process 1"):
        rb.distributed.reform()
    print("all is well")
    raise SystemExit
with pytest.raises(PeerLost, match=r"process 1: nothing was heard of it for \d+ s") as caught:
    while True:
        total(x)
assert caught.value.ranks == (1,)
rb.distributed.reform()
assert (rb.process_count(), rb.process_index()) == (2, slot // 2)
x = fresh()
assert float(total(x)) == 2

# --- one ends by an exception while the other compiles
if slot == 2:
    raise ValueError("on purpose")
message = r"'other' \(silent.py:\d+; f32\[2\] -> f32\[\]; .* cannot be compiled: process 1: its program has "
with pytest.raises(PeerLost, match=message) as caught:

    def other(x):
        return rb.lax.reduce_sum(x * 5, (0,))

    rb.jit(other)(x)
assert caught.value.ranks == (1,)
rb.distributed.reform()
assert rb.process_count() == 1 and float(total(fresh())) == 1
os.kill(int(pids[1]), signal.SIGCONT)
print("all is well")
