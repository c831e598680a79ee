"""Three processes, of which one after the other does something wrong; those that are left go on each time."""

import itertools
import os
import re
import signal
import sys
import time

import numpy as np
import pytest
import rabbet as rb
from rabbet.distributed import DifferentPrograms, PeerLost
from rabbet.sharding import NamedSharding
from rabbet.sharding import PartitionSpec as P
from rabbet_distributed.api import initialized_group

rb.distributed.initialize()
slot = int(os.environ["RABBET_PROCESS_ID"])


def fresh():
    """An array and two programs over the present group, tried."""
    count = rb.device_count()
    sharding = NamedSharding(rb.make_mesh((count,), ("x",)), P("x"))
    x = rb.make_array_from_callback((2 * count,), sharding, lambda index: np.arange(2.0 * count)[index])

    def total(x):
        return (x * 2).sum()

    def mean(x):
        return (x + 1).mean()

    total, mean = rb.jit(total), rb.jit(mean)
    assert float(total(x)) == 2 * count * (2 * count - 1) and float(mean(x)) == count + 0.5
    return x, total, mean


x, total, mean = fresh()

# --- programs that are compiled differ
constant = 2.0 if slot == 2 else 3.0
with pytest.raises(DifferentPrograms, match=r"'scaled' \(losses.py:\d+; f32\[6\] -> f32\[\]; ") as caught:

    def scaled(x):
        return (x * constant).sum()

    rb.jit(scaled)(x)
# Who has another one names one of the others, or both, as they come.
assert caught.value.ranks in ([(0,), (1,), (0, 1)] if slot == 2 else [(2,)]), caught.value
assert re.search(rf"differ first in line \d+ .*\n +process {slot} has.*dense<{constant}", str(caught.value))
with pytest.raises(DifferentPrograms, match="scaled"):  # nothing goes on in this group
    total(x)
kept = [np.asarray(shard.data) for shard in x.addressable_shards]  # what is here can be read
np.testing.assert_array_equal(kept[0], [2 * slot, 2 * slot + 1])
rb.distributed.reform()
assert (rb.process_count(), rb.process_index()) == (3, slot)
x, total, mean = fresh()

# --- programs that are known run in another order
with pytest.raises(DifferentPrograms, match=r"'total'.*'mean'|'mean'.*'total'"):
    for i in itertools.count():
        (total if (slot == 1) == i % 2 else mean)(x)
        time.sleep(0.02)
rb.distributed.reform()
x, total, mean = fresh()

# --- one is killed within a program
if slot == 2:
    time.sleep(1)
    os.kill(os.getpid(), signal.SIGKILL)
with pytest.raises(PeerLost, match=r"process 2: its process is gone") as caught:
    while True:
        total(x)
assert caught.value.ranks == (2,)
rb.distributed.reform()
assert rb.process_count() == 2
x, total, mean = fresh()

# --- one is alive, and does not come
if slot == 1:
    while not re.search("left this group|ended", rb.distributed.lost().get(0, "")):  # and goes on alone
        time.sleep(0.1)
    with pytest.raises(PeerLost, match=r"'total' cannot|process 0: it (?:gave up|left this group|ended)"):
        total(x)
    with pytest.raises(PeerLost, match="without process 1"):
        rb.distributed.reform()
    print("all is well")
    sys.exit()
group = initialized_group()
group.seconds = group.seconds._replace(step=4)
with pytest.raises(PeerLost, match=r"its time-out: process 1: it is alive, but has not come") as caught:
    total(x)
assert caught.value.ranks == (1,)
rb.distributed.reform(timeout_seconds=2)
assert (rb.process_count(), rb.process_index()) == (1, 0)
fresh()
print("all is well")
