"""Two processes write a checkpoint of arrays that lie over both, and of one that each process has."""

import sys

import numpy as np
import rabbet as rb
from rabbet.sharding import NamedSharding
from rabbet.sharding import PartitionSpec as P

rb.distributed.initialize()
mesh = rb.make_mesh((2, 2), ("p", "d"))
whole = np.arange(48, dtype=np.float32).reshape(12, 4)
state = {
    "rows": rb.device_put(whole, NamedSharding(mesh, P(("p", "d")))),
    "both": rb.device_put(whole, NamedSharding(mesh, P("d", "p"))),
    "copies": rb.device_put(whole, NamedSharding(mesh, P())),
    "host": whole[0],
    "step": 5,
}
checkpoints = rb.store.Checkpoints(sys.argv[1], timeout_seconds=600)
checkpoints.save(5, state)
checkpoints.wait()
assert checkpoints.steps() == [5]
loaded = checkpoints.load(like=state)
for name in ("rows", "both", "copies"):
    assert loaded[name].sharding == state[name].sharding
    for shard in loaded[name].addressable_shards:
        np.testing.assert_array_equal(shard.data, whole[shard.index])
rb.distributed.shutdown()
