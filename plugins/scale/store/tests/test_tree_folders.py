"""A pytree in a folder: what is saved is read again, under other shardings and in part, or refused."""

import asyncio

import numpy as np
import pytest
import rabbet as rb
from rabbet.errors import TreeError
from rabbet.extend.sharding import SingleDeviceSharding
from rabbet_store.errors import CheckpointError

serialization = pytest.importorskip("rabbet.experimental.array_serialization.pytree_serialization")
W = np.arange(6, dtype=np.float32).reshape(2, 3)


def data():
    return {"w": rb.device_put(W), "parts": [rb.device_put(np.int32(3)), None, (W[0] * 2,)]}


def test_what_is_saved_is_read(tmp_path):
    serialization.save(data(), tmp_path / "tree")
    types = serialization.load_pytreedef(tmp_path / "tree")
    assert types["w"] == rb.ShapeDtypeStruct((2, 3), "float32") and types["parts"][1] is None
    here = SingleDeviceSharding(rb.devices()[0])
    for place in (
        here,
        rb.devices()[0],
        {"w": rb.ShapeDtypeStruct((2, 3), "float32", sharding=here), "parts": here},
    ):
        found = serialization.load(tmp_path / "tree", place)
        np.testing.assert_array_equal(found["w"], W)
        assert int(found["parts"][0]) == 3 and found["parts"][1] is None
        np.testing.assert_array_equal(found["parts"][2][0], W[0] * 2)
        assert found["w"].sharding == here


def test_parts_of_a_tree(tmp_path):
    serialization.save(data(), tmp_path)
    future = serialization.nonblocking_load(tmp_path, rb.devices()[0], mask={"w": False, "parts": True})
    assert future.pytree["w"] is None and future.pytree["parts"][0].shape == ()
    found = future.result()
    assert found["w"] is None and int(found["parts"][0]) == 3 and future.done()


def test_a_tree_gives_way_to_the_next(tmp_path):
    serialization.save(data(), tmp_path)
    with pytest.raises(ValueError, match=r"there is a tree in .* already"):
        serialization.save({"v": W}, tmp_path, overwrite=False)
    (tmp_path / "mine.txt").write_text("stays")
    for scale in (2, 3, 4):
        future = serialization.nonblocking_save({"v": W * scale}, tmp_path)
        assert future.pytree == {"v": rb.ShapeDtypeStruct((2, 3), "float32")}
        assert future.result() is None
        np.testing.assert_array_equal(serialization.load(tmp_path, rb.devices()[0])["v"], W * scale)
    assert (tmp_path / "mine.txt").read_text() == "stays"


def test_futures_are_awaited(tmp_path):
    async def both():
        await serialization.nonblocking_save({"v": W}, tmp_path)
        return await serialization.nonblocking_load(tmp_path, rb.devices()[0])

    np.testing.assert_array_equal(asyncio.run(both())["v"], W)


def test_what_cannot_be(tmp_path):
    with pytest.raises(TypeError, match=r"save: \['a'\] is 'text', and arrays are saved"):
        serialization.save({"a": "text"}, tmp_path)
    with pytest.raises(CheckpointError, match="there is no tree in"):
        serialization.load(tmp_path / "nothing", rb.devices()[0])
    with pytest.raises(ValueError, match="ts_specs are for tensorstore's files"):
        serialization.save({"a": W}, tmp_path, ts_specs={"a": {}})
    with pytest.raises(ValueError, match="a tree is saved in a folder of files, got 'gs://b/x'"):
        serialization.save({"a": W}, "gs://b/x")
    serialization.save({"a": W}, tmp_path)
    with pytest.raises(TreeError, match="shardings"):
        serialization.load(tmp_path, {"b": rb.devices()[0]})
    other = rb.ShapeDtypeStruct((3, 3), "float32", sharding=SingleDeviceSharding(rb.devices()[0]))
    with pytest.raises(CheckpointError, match=r"of the shape \(2, 3\) is asked for as \(3, 3\)"):
        serialization.load(tmp_path, other)
