"""Global arrays over two processes with two devices each, against NumPy."""

import logging

import numpy as np
import pytest
import rabbet as rb
from rabbet import lax
from rabbet.errors import NotAddressableError, ShardingError
from rabbet.sharding import NamedSharding
from rabbet.sharding import PartitionSpec as P

assert not rb.distributed.is_initialized()
rb.distributed.initialize()
assert rb.distributed.is_initialized()
me = rb.process_index()
assert (rb.process_count(), rb.device_count(), rb.local_device_count()) == (2, 4, 2)
assert [d.process_index for d in rb.devices()] == [0, 0, 1, 1]
with pytest.raises(RuntimeError, match="was called before"):
    rb.distributed.initialize()

mesh, said = rb.make_mesh((2, 2), ("p", "d")), []
rb.config.update("log_compiles", True)
logging.getLogger("rabbet").addFilter(lambda record: said.append(record.getMessage().split()[0]))
whole = np.arange(32, dtype=np.float32).reshape(8, 4)


def over(*spec):
    return NamedSharding(mesh, P(*spec))


# --- arrays
calls = []
x = rb.make_array_from_callback((8, 4), over(("p", "d")), lambda index: calls.append(index) or whole[index])
assert len(calls) == 2 and [s.index[0].start for s in x.addressable_shards] == [4 * me, 4 * me + 2]
assert not x.is_fully_addressable and not x.is_fully_replicated and x.sharding.spec == P(("p", "d"))
assert [s.data is None for s in x.global_shards] == [me != 0] * 2 + [me == 0] * 2
assert repr(x) == str(x) == "Array(shape=(8, 4), dtype=float32)"
for shard in x.addressable_shards:
    np.testing.assert_array_equal(shard.data, whole[shard.index])
with pytest.raises(NotAddressableError, match="process_allgather"):
    np.asarray(x)
with pytest.raises(ShardingError, match=f"belongs to process {1 - me}"):
    rb.device_put(1.0, rb.devices()[2 - 2 * me])
local = whole[4 * me : 4 * me + 4]
for spec, given, shape in [
    (P("p"), local, None),
    (P(("p", "d")), local, (8, 4)),
    (P("p"), whole, (8, 4)),
    (P(None, "d"), whole, None),
    (P("d"), whole, (8, 4)),
]:
    made = rb.make_array_from_process_local_data(NamedSharding(mesh, spec), given, shape)
    assert made.shape == (8, 4), spec
    for shard in made.addressable_shards:
        np.testing.assert_array_equal(shard.data, whole[shard.index])
with pytest.raises(ValueError, match="dimension 0"):
    rb.make_array_from_process_local_data(over("p"), local, (12, 4))
parts = [s.data for s in x.addressable_shards]
again = rb.make_array_from_single_device_arrays((8, 4), x.sharding, parts[::-1])
assert float((again == x).all()) == 1.0
copied = rb.device_put(whole, over("p", "d"))
moved = rb.device_put(copied, over("d"))
for shard in moved.addressable_shards:
    np.testing.assert_array_equal(shard.data, whole[shard.index])

# --- programs
w = np.linspace(-1, 1, 12, dtype=np.float32).reshape(4, 3)


def loss(w, x):
    return (rb.lax.tanh(x @ w) ** 2).mean()


expected = rb.jit(rb.value_and_grad(loss))(w, whole)  # on one device of each process
value, gradient = rb.jit(rb.value_and_grad(loss))(rb.device_put(w, over()), x)
np.testing.assert_allclose(value, expected[0], rtol=1e-6)
np.testing.assert_allclose(gradient, expected[1], rtol=1e-5, atol=1e-6)
np.testing.assert_array_equal((x + 1.0).sum(0), (whole + 1).sum(0))
assert float(x.max()) == 31.0 and float(rb.jit(lambda x: x[5, 2])(x)) == whole[5, 2]

# --- each device by itself
line = rb.make_mesh((4,), ("i",))
flat = rb.device_put(whole, NamedSharding(line, P("i")))
blocks = whole.reshape(4, 2, 4)


def each(f, out):
    run = rb.shard_map(f, mesh=line, in_specs=P("i"), out_specs=out, check_vma=False)
    return rb.device_put(rb.jit(run)(flat), NamedSharding(line, P()))


shifted = [(i, (i + 1) % 4) for i in range(4)]
np.testing.assert_array_equal(each(lambda x: lax.psum(x, "i"), P()), blocks.sum(0))
np.testing.assert_array_equal(each(lambda x: lax.pmax(x, "i"), P()), blocks.max(0))
np.testing.assert_array_equal(each(lambda x: lax.all_gather(x, "i", tiled=True), P()), whole)
np.testing.assert_array_equal(
    each(lambda x: lax.ppermute(x, "i", shifted), P("i")), np.roll(blocks, 1, 0).reshape(8, 4)
)
np.testing.assert_array_equal(
    each(lambda x: lax.psum_scatter(x, "i", scatter_dimension=1, tiled=True), P(None, "i")), blocks.sum(0)
)
np.testing.assert_array_equal(each(lambda x: lax.all_to_all(x, "i", 1, 0, tiled=True), P(None, "i")), whole)
np.testing.assert_array_equal(each(lambda x: lax.axis_index("i")[None], P("i")), np.arange(4))
assert said.count("received") >= 5 * me and ("received" in said) == bool(me)  # compiled once, for both
rb.distributed.shutdown()
assert not rb.distributed.is_initialized()
np.testing.assert_array_equal(rb.device_put(np.ones(3)) + 1, np.full(3, 2))
with pytest.raises(rb.errors.PeerLost, match="given up"):
    x.sum()
print("all is well")
