"""Arrays written where tensorstore specs say, one by one."""

import asyncio
import json
import threading

import numpy as np
import pytest
import rabbet as rb
from rabbet.sharding import NamedSharding
from rabbet.sharding import PartitionSpec as P

serialization = pytest.importorskip("rabbet.experimental.array_serialization.serialization")
Manager = serialization.GlobalAsyncCheckpointManager

X = np.arange(64, dtype=np.float32).reshape(8, 8)


@pytest.fixture
def laid():
    count = min(2, rb.device_count())
    mesh = rb.sharding.Mesh(np.array(rb.devices()[:count]), ("x",))
    return lambda *spec: NamedSharding(mesh, P(*spec))


def test_written_on_a_thread_and_read_under_another_sharding(tmp_path, laid):
    manager, done = Manager(), threading.Event()
    arrays = [rb.device_put(X, laid("x")), rb.device_put(np.int32(7)), rb.device_put(X > 30, laid(None, "x"))]
    paths = [tmp_path / name for name in "abc"]
    manager.serialize_with_paths(arrays, paths, on_commit_callback=done.set)
    for x in arrays:
        x.delete()  # their values are copied
    manager.wait_until_finished()
    assert done.is_set()
    metadata = json.loads((tmp_path / "a" / ".zarray").read_text())
    assert metadata["shape"] == [8, 8] and metadata["dtype"] == "<f4" and metadata["zarr_format"] == 2
    assert metadata["chunks"] == [8 // laid("x").num_devices, 8]
    a, b, c = manager.deserialize_with_paths([laid(None, "x"), rb.devices()[0], laid()], paths)
    np.testing.assert_array_equal(a, X)
    np.testing.assert_array_equal(c, X > 30)
    assert b.item() == 7 and a.sharding == laid(None, "x")


@pytest.mark.needs("bfloat16")
def test_other_shapes_and_dtypes_than_on_disk(tmp_path, laid):
    spec = serialization.get_tensorstore_spec(tmp_path / "w", ocdbt=True)
    serialization.run_serialization([rb.device_put(X, laid("x"))], [spec])
    more, less = serialization.run_deserialization(
        [laid("x"), laid()], [spec, spec], [(10, 4), (2, 8)], ["bfloat16", None]
    )
    np.testing.assert_array_equal(np.asarray(more, "f4"), np.pad(X[:, :4], ((0, 2), (0, 0))))
    assert more.dtype.name == "bfloat16" and less.dtype == X.dtype
    np.testing.assert_array_equal(less, X[:2])


@pytest.mark.parametrize("driver", ["zarr", "zarr3"])
@pytest.mark.parametrize(
    "dtype", [pytest.param("bfloat16", marks=pytest.mark.needs("bfloat16")), "int8", "complex64"]
)
def test_dtypes_and_drivers(tmp_path, driver, dtype):
    x = rb.device_put(X.astype("f4")).astype(dtype)
    spec = serialization.get_tensorstore_spec(tmp_path / "w", driver=driver)

    async def there_and_back():
        await serialization.async_serialize(x, spec)
        return await serialization.async_deserialize(x.sharding, spec)

    found = asyncio.run(there_and_back())
    assert found.dtype == x.dtype and (found == x).all()


def test_what_goes_wrong_is_told_later(tmp_path):
    x = rb.device_put(X)
    manager = Manager()
    manager.serialize_with_paths([x], [tmp_path / "w"])
    manager.serialize_with_paths([x[:3]], [tmp_path / "w"])
    with pytest.raises(Exception, match="w"):
        manager.wait_until_finished()
    manager.check_for_errors()  # told once
    with pytest.raises(rb.store.CheckpointError, match="nowhere"):
        manager.deserialize_with_paths([x.sharding], [tmp_path / "nowhere"])
    with pytest.raises(rb.store.CheckpointError, match=r"w.*has the shape .*, and \(3,\) is .*\n.*to fix"):
        manager.deserialize_with_paths([x.sharding], [tmp_path / "w"], [(3,)])
    with pytest.raises(TypeError, match="ndarray"):
        manager.serialize_with_paths([X], [tmp_path / "v"])
    with pytest.raises(ValueError, match="tensorstore_specs has 0 entries for 1 arrays"):
        manager.serialize([x], [])

    def fails():
        raise RuntimeError("as a user would")

    manager.serialize_with_paths([x], [tmp_path / "u"], on_commit_callback=fails)
    with pytest.raises(RuntimeError, match="as a user would"):
        manager.wait_until_finished()


def test_specs():
    spec = serialization.get_tensorstore_spec
    assert spec("gs://b/run/w", ocdbt=True)["kvstore"] == {
        "driver": "ocdbt", "base": {"driver": "gcs", "bucket": "b", "path": "run"}, "path": "w",
    }  # fmt: skip
    assert spec("/run/w", ocdbt=True, process_idx=1)["kvstore"]["base"]["path"] == "/run/process_1"
    assert serialization.is_remote_storage(spec("s3://b/w"))
    assert not serialization.is_remote_storage(spec("/w"))
    for path in ("run/w", "ftp://host/w"):
        with pytest.raises(ValueError, match="get_tensorstore_spec"):
            spec(path)


def test_at_most_concurrent_gb_are_read_at_once(tmp_path, laid, monkeypatch):
    from rabbet_store import reading_arrays

    held, most = [0], []

    class Counted(reading_arrays.Reading):
        def start(self):
            held[0] += self.bytes
            most.append(held[0])
            super().start()

        def finish(self):
            held[0] -= self.bytes
            return super().finish()

    monkeypatch.setattr("rabbet_store.plain_arrays.Reading", Counted)
    manager, paths = Manager(), [tmp_path / str(i) for i in range(5)]
    arrays = [rb.device_put(X + i, laid("x")) for i in range(5)]
    manager.serialize_with_paths(arrays, paths)
    for limit, wanted in ((2 * X.nbytes, 2), (X.nbytes // 2, 1), (32e9, 5)):
        most.clear()
        found = manager.deserialize_with_paths([laid("x")] * 5, paths, concurrent_gb=limit / 1e9)
        assert max(most) == wanted * X.nbytes
        for i, x in enumerate(found):
            np.testing.assert_array_equal(x, X + i)
    for wrong in (0, -1):
        with pytest.raises(ValueError, match="concurrent_gb is how much memory"):
            manager.deserialize_with_paths([laid("x")], paths[:1], concurrent_gb=wrong)


def test_a_format_says_how_what_is_read_lies_in_memory(tmp_path, laid):
    from rabbet.experimental.layout import Format, Layout

    manager, asked = Manager(), Format(Layout((1, 0)), laid("x"))
    manager.serialize_with_paths([rb.device_put(X)], [tmp_path / "w"])
    (found,) = manager.deserialize_with_paths([asked], [tmp_path / "w"])
    assert found.format == asked
    np.testing.assert_array_equal(found, X)


@pytest.mark.parametrize("driver", ["zarr", "zarr3"])
def test_options_of_tensorstore(tmp_path, driver):
    import tensorstore as ts

    x, spec = rb.device_put(X), serialization.get_tensorstore_spec(tmp_path / "w", driver=driver)
    context = ts.Context({"data_copy_concurrency": {"limit": 1}})
    pieces = ts.ChunkLayout(chunk_shape=[2, 4])

    async def there_and_back():
        await serialization.async_serialize(x, spec, context=context, chunk_layout=pieces)
        return await serialization.async_deserialize(x.sharding, spec, context=context, chunk_layout=pieces)

    np.testing.assert_array_equal(asyncio.run(there_and_back()), X)
    assert ts.open(spec).result().chunk_layout.write_chunk.shape == (2, 4)
    with pytest.raises(rb.store.CheckpointError, match="w"):  # its chunks are others
        other = ts.ChunkLayout(chunk_shape=[8, 8])
        asyncio.run(serialization.async_deserialize(x.sharding, spec, chunk_layout=other))


def test_metadata_that_is_assumed_is_not_read(tmp_path):
    x, spec = rb.device_put(X), serialization.get_tensorstore_spec(tmp_path / "w")
    serialization.run_serialization([x], [spec])
    whole = serialization.get_tensorstore_spec(tmp_path / "w", arr=x)
    (tmp_path / "w" / ".zarray").unlink()
    with pytest.raises(rb.store.CheckpointError):
        asyncio.run(serialization.async_deserialize(x.sharding, whole))
    found = serialization.async_deserialize(x.sharding, whole, assume_metadata=True)
    np.testing.assert_array_equal(asyncio.run(found), X)


def test_what_is_to_be_waited_for_is_appended_to_a_list(tmp_path, laid):
    x, spec, commits = rb.device_put(X, laid("x")), serialization.get_tensorstore_spec(tmp_path / "w"), []
    asyncio.run(serialization.async_serialize(x, spec, commits))
    assert len(commits) == laid("x").num_devices
    for commit in commits:
        commit.result()
    np.testing.assert_array_equal(serialization.run_deserialization([x.sharding], [spec])[0], X)
    with pytest.raises(TypeError, match="commit_future is a list to append to, got a tuple"):
        asyncio.run(serialization.async_serialize(x, spec, ()))


def test_who_writes_the_description_and_which_replica(tmp_path, laid, monkeypatch):
    x, spec = rb.device_put(X, laid()), serialization.get_tensorstore_spec(tmp_path / "w")
    monkeypatch.setattr("rabbet_store.plain_arrays.rb.process_count", lambda: 2)
    asyncio.run(serialization.async_serialize(x, spec, primary_host=1))  # another one
    assert [path.name for path in (tmp_path / "w").iterdir()] == ["0.0"]
    asyncio.run(serialization.async_serialize(x, spec, primary_host=0))
    monkeypatch.undo()
    np.testing.assert_array_equal(serialization.run_deserialization([laid("x")], [spec])[0], X)
    for wrong in (2, -1):
        with pytest.raises(ValueError, match=f"primary_host is the number of a process, .* got {wrong}"):
            asyncio.run(serialization.async_serialize(x, spec, primary_host=wrong))
    for wrong in (8, -1):
        with pytest.raises(ValueError, match=f"replica_id is {wrong}, and each part of the array lies on"):
            asyncio.run(serialization.async_serialize(x, spec, replica_id=wrong))
    if laid().num_devices == 1:
        pytest.skip("one device has no second replica")
    other = serialization.get_tensorstore_spec(tmp_path / "v")
    asyncio.run(serialization.async_serialize(x, other, replica_id=1))
    np.testing.assert_array_equal(serialization.run_deserialization([laid()], [other])[0], X)


class Limiter:
    """As libraries have them: waits until so many bytes are free."""

    def __init__(self, limit):
        self.limit, self.held, self.most, self.asked = limit, 0, 0, []

    async def wait_for_bytes(self, count):
        self.asked.append(count)
        while self.held + count > self.limit:
            await asyncio.sleep(0)
        self.held += count
        self.most = max(self.most, self.held)

    async def release_bytes(self, count):
        self.held -= count


def test_a_limiter_of_bytes_bounds_what_is_read_at_once(tmp_path, laid):
    from rabbet.experimental.layout import Format, Layout

    specs = [serialization.get_tensorstore_spec(tmp_path / str(i)) for i in range(3)]
    serialization.run_serialization([rb.device_put(X + i, laid("x")) for i in range(3)], specs)
    places = [laid("x"), rb.devices()[0], Format(Layout((1, 0)), laid())]
    limiter = Limiter(X.nbytes)

    async def read_them():
        reads = [serialization.async_deserialize(p, s, None, None, limiter) for p, s in zip(places, specs)]
        return await asyncio.gather(*reads)

    found = asyncio.run(read_them())
    for i, x in enumerate(found):
        np.testing.assert_array_equal(x, X + i)
    assert (
        found[0].sharding == places[0] and found[1].devices() == {places[1]} and found[2].format == places[2]
    )
    parts = laid("x").num_devices
    assert sorted(limiter.asked) == [X.nbytes // parts] * parts + [X.nbytes] * 2
    assert limiter.held == 0 and limiter.most <= X.nbytes
    more = serialization.async_deserialize(laid("x"), specs[0], (10, 4), "float16", Limiter(X.nbytes))
    np.testing.assert_array_equal(asyncio.run(more), np.pad(X[:, :4], ((0, 2), (0, 0))))
    with pytest.raises(rb.store.CheckpointError, match="nowhere"):
        spec = serialization.get_tensorstore_spec(tmp_path / "nowhere")
        asyncio.run(serialization.async_deserialize(laid("x"), spec, byte_limiter=limiter))
    with pytest.raises(TypeError, match=r"byte_limiter has the coroutines .* got a int"):
        asyncio.run(serialization.async_deserialize(laid("x"), specs[0], byte_limiter=5))
