"""A process that saves steps near it and waits to be killed, or that reads what is left: arguments are the
folder of all machines, and ``save``, or ``load`` and the step that should be there.
"""

import sys
import time
from pathlib import Path

import numpy as np
import rabbet as rb
from rabbet.sharding import NamedSharding
from rabbet.sharding import PartitionSpec as P

rb.distributed.initialize()
root, what = Path(sys.argv[1]), sys.argv[2]
me, count = rb.process_index(), rb.process_count()
near = rb.store.PeerCheckpoints(root / f"machine-{me}")
store = rb.store.Checkpoints(root / "store", timeout_seconds=600)
tiers = rb.store.Tiers([(near, 1), (store, 2)])
mesh = rb.make_mesh((rb.device_count(),), ("d",))
rows, everywhere = NamedSharding(mesh, P("d")), NamedSharding(mesh, P())
whole = np.arange(48, dtype=np.float32).reshape(12, 4)


def state(step):
    return {
        "rows": rb.device_put(whole * step, rows),
        "copies": rb.device_put(whole[0] + step, everywhere),
        "key": rb.device_put(rb.random.split(rb.random.key(step), 12), rows),
        "host": whole[1] * step + me,
        "step": step,
    }


def check(loaded, step, mine):
    assert loaded["step"] == step, loaded["step"]
    for shard in loaded["rows"].addressable_shards:
        np.testing.assert_array_equal(shard.data, (whole * step)[shard.index])
    np.testing.assert_array_equal(loaded["copies"], whole[0] + step)
    keys = np.asarray(rb.random.key_data(rb.random.split(rb.random.key(step), 12)))
    for shard in loaded["key"].addressable_shards:
        np.testing.assert_array_equal(rb.random.key_data(shard.data), keys[shard.index])
    np.testing.assert_array_equal(loaded["host"], whole[1] * step + mine)


like = state(1)
if what == "save":
    for step in (1, 2, 3):
        tiers.save(step, state(step), wait=True)
    print("saved", flush=True)
    near.save(4, state(4))  # perhaps written when the processes are killed, perhaps not
    time.sleep(3600)
at = int(sys.argv[3])
latest = tiers.latest()
assert latest in (at, 4) if at == 3 else latest == at, latest
check(tiers.load(like=like), latest, me)
check(tiers.load(2, like=like), 2, me if 2 in near.steps() else 0)  # the store has those of process 0
only = tiers.load(like={"rows": like["rows"]}, partial=True)
assert set(only) == {"rows"} and only["rows"].sharding == rows
print("all is well", flush=True)
