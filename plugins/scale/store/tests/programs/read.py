"""One process reads, over three devices, what two have written over four."""

import sys

import numpy as np
import pytest
import rabbet as rb
from rabbet.errors import ShardingError
from rabbet.sharding import NamedSharding
from rabbet.sharding import PartitionSpec as P

whole = np.arange(48, dtype=np.float32).reshape(12, 4)
mesh = rb.make_mesh((3,), ("x",))
rows = NamedSharding(mesh, P("x"))
checkpoints = rb.store.Checkpoints(sys.argv[1])
places = {"rows": rows, "both": rows, "copies": rb.devices()[2], "host": None, "step": None}
loaded = checkpoints.load(shardings=places)
for name in ("rows", "both", "copies"):
    np.testing.assert_array_equal(loaded[name], whole)
assert loaded["rows"].sharding == rows and loaded["copies"].devices() == {rb.devices()[2]}
np.testing.assert_array_equal(loaded["host"], whole[0])
assert loaded["step"] == 5
with pytest.raises(ShardingError, match=r"\['rows'\] of the checkpoint: .* not divisible by 3"):
    checkpoints.load(shardings={**places, "rows": NamedSharding(mesh, P(None, "x"))})
print("all is well")
