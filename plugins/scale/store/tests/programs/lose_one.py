"""Two processes write a checkpoint, and the second one is killed meanwhile. The first notices, keeps the one
that was there, and goes on alone.
"""

import os
import signal
import sys

import numpy as np
import pytest
import rabbet as rb
from rabbet.sharding import NamedSharding
from rabbet.sharding import PartitionSpec as P

rb.distributed.initialize()
checkpoints = rb.store.Checkpoints(sys.argv[1], timeout_seconds=600)


def rows():
    return NamedSharding(rb.make_mesh((rb.device_count(),), ("x",)), P("x"))


whole = np.arange(16 << 20, dtype=np.float32)  # 64 MB: writing takes longer than dying
checkpoints.save(1, {"x": rb.device_put(whole[:8], rows())}, wait=True)
checkpoints.save(2, {"x": rb.device_put(whole, rows())})
if rb.process_index() == 1:
    os.kill(os.getpid(), signal.SIGKILL)
with pytest.raises(rb.store.CheckpointError, match=r"processes \[1\] did not write their parts: its process"):
    checkpoints.wait()
assert checkpoints.steps() == [1] and rb.distributed.lost()[1]

rb.distributed.reform()
assert rb.process_count() == 1
loaded = checkpoints.load(shardings=rows())
np.testing.assert_array_equal(loaded["x"], whole[:8])
checkpoints.save(2, loaded, wait=True)
assert checkpoints.steps() == [1, 2] and checkpoints.clean() == []
checkpoints.verify()
print("all is well")
