"""``rabbet.experimental.multihost_utils`` over two processes; the results are those of JAX 0.12."""

import numpy as np
import pytest
import rabbet as rb
from rabbet.experimental import multihost_utils as utils
from rabbet.sharding import NamedSharding
from rabbet.sharding import PartitionSpec as P

with pytest.raises(RuntimeError, match="initialize"):
    utils.reached_preemption_sync_point(0)
rb.distributed.initialize()
me = rb.process_index()


def same(found, expected):
    expected = np.asarray(expected)
    assert type(found) is np.ndarray and found.dtype == expected.dtype and found.shape == expected.shape, (
        found
    )
    np.testing.assert_array_equal(found, expected)


def f32(*values):
    return np.array(values, np.float32)


sent = utils.broadcast_one_to_all({"a": np.arange(3.0) + me, "b": (np.array([me == 0, True]), me + 5)})
same(sent["a"], f32(0, 1, 2))
same(sent["b"][0], [True, True])
same(sent["b"][1], np.int32(5))
same(utils.broadcast_one_to_all(np.int32(me + 5), is_source=me == 1), np.int32(6))
same(utils.broadcast_one_to_all(np.array(0.1 + me)), np.float32(0.1))
nan = utils.broadcast_one_to_all(f32(np.nan, -0.0, np.inf))
assert np.isnan(nan[0]) and np.signbit(nan[1]) and nan[2] == np.inf

same(utils.process_allgather(np.arange(3.0) + me), np.stack([f32(0, 1, 2), f32(1, 2, 3)]))
same(utils.process_allgather(np.arange(2) + me, tiled=True), np.int32([0, 1, 1, 2]))
same(utils.process_allgather(np.float32(me)), f32(0, 1))
same(utils.process_allgather(np.float32(me), tiled=True), f32(0, 1))
mesh = rb.make_mesh((2, 1), ("p", "d"))
x = rb.make_array_from_process_local_data(NamedSharding(mesh, P("p")), np.arange(4, dtype="f4") + 10 * me)
same(utils.process_allgather(x, tiled=True), f32(0, 1, 2, 3, 10, 11, 12, 13))
with pytest.raises(ValueError, match="tiled=True"):
    utils.process_allgather(x)

utils.sync_global_devices("here")
with pytest.raises(AssertionError, match=f"processes {1 - me} are at a point of another name"):
    utils.sync_global_devices(f"here {me}")
utils.assert_equal({"a": 1, "b": f32(2)}, "the settings")
with pytest.raises(AssertionError, match=r"the settings: \['b'\] of process 1 is not that of process 0"):
    utils.assert_equal({"a": 1, "b": f32(me)}, "the settings")

nan, wide = np.float64("nan"), np.array([2**60, -(2**60)])
utils.assert_equal({"nan": [f32(nan, 1), nan, complex(nan, 1)], "zero": f32((0.0, -0.0)[me]), "wide": wide})
utils.assert_equal({"pi": np.pi, "text": "same", "none": None, "big": 2**70, "mask": np.array([True])})
for same_in_32_bits in (
    np.float64(0.1) + me * 1e-16, wide + me, np.nextafter(1.0, 1 + me), f32(nan if me else 1.0), 2**70 + me,
    np.zeros(2 + me), np.zeros(2, "i4" if me else "f4"), "ab"[me], {"a": 1, "b": 1} if me else {"a": 1},
):  # fmt: skip
    with pytest.raises(AssertionError, match=r"of process 1 is not that of process 0|another structure"):
        utils.assert_equal(same_in_32_bits)

out = utils.host_local_array_to_global_array(
    {"x": np.arange(4.0) + me, "n": f32(7)}, mesh, {"x": P("p"), "n": P()}
)
with pytest.raises(ValueError, match="global_array: None in pspecs"):
    utils.host_local_array_to_global_array({"x": np.arange(4.0)}, mesh, {"x": None})
assert out["x"].shape == (8,) and out["n"].shape == (1,) and out["n"].is_fully_replicated
back = utils.global_array_to_host_local_array(out, mesh, {"x": P("p"), "n": P()})
np.testing.assert_array_equal(back["x"], np.arange(4.0) + me)
assert back["x"].is_fully_addressable
np.testing.assert_array_equal(utils.global_array_to_host_local_array(out["x"], mesh, P()), np.r_[0:4, 1:5])
assert utils.host_local_array_to_global_array(np.ones((2, 2)), mesh, P(None, "p")).shape == (2, 4)

with utils.live_devices(rb.devices()) as devices:
    assert devices == rb.devices()
with pytest.raises(utils.ProcessFailureError if me else ZeroDivisionError), utils.live_devices(rb.devices()):
    1 / me
assert utils.reached_preemption_sync_point(1) is False
print("all is well")
