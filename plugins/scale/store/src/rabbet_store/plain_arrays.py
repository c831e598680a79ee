"""Arrays written one by one where a caller's tensorstore spec says, while the program goes on: what libraries
of JAX's know as ``GlobalAsyncCheckpointManager``. Whole checkpoints are ``Checkpoints``.
"""

import asyncio
import operator
import os
import threading

import numpy as np
import rabbet as rb
import tensorstore as ts
from rabbet import Array, dtypes
from rabbet.extend.functions import folded
from rabbet.extend.processes import copies_of_parts
from rabbet_distributed.api import initialized_group

from rabbet_store.errors import CheckpointError
from rabbet_store.leaves import refuse_addends
from rabbet_store.reading_arrays import Reading, given, read, read_all, read_within

REMOTE = {"gs": "gcs", "s3": "s3"}
COMPRESSOR = {"id": "zstd", "level": 1}


@folded
def get_tensorstore_spec(
    ckpt_path: str | os.PathLike,
    *,
    ocdbt: bool = False,
    process_idx: int | None = None,
    arr: Array | None = None,
    driver: str = "zarr",
) -> dict:
    """What tensorstore is told of an array at a path: a local one, ``gs://bucket/...`` or ``s3://bucket/...``.

    Args:
      ckpt_path: where the array is, absolute.
      ocdbt: whether the folder above is one database of many arrays.
      process_idx: with ``ocdbt``, the process whose part of the database it is.
      arr: an array to be written, whose shape, dtype and parts the spec then has.
      driver: ``"zarr"`` or ``"zarr3"``.

    Example:
      >>> from rabbet.experimental.array_serialization import serialization
      >>> serialization.get_tensorstore_spec("/data/step/w")
      {'driver': 'zarr', 'kvstore': {'driver': 'file', 'path': '/data/step/w'}}
    """
    path = os.fspath(ckpt_path).rstrip("/")
    scheme, _, rest = path.partition("://")
    if rest and scheme not in REMOTE:
        raise ValueError(f"get_tensorstore_spec: paths are local, gs:// or s3://, got {path!r}")
    if not rest and not os.path.isabs(path):
        raise ValueError(f"get_tensorstore_spec: paths are absolute, got {path!r}")
    store = {"driver": "file", "path": path}
    if rest:
        bucket, _, inside = rest.partition("/")
        store = {"driver": REMOTE[scheme], "bucket": bucket, "path": inside}
    if ocdbt:
        above, _, name = store["path"].rpartition("/")
        above = above if process_idx is None else f"{above}/process_{process_idx}"
        store = {"driver": "ocdbt", "base": {**store, "path": above}, "path": name}
    spec = {"driver": driver, "kvstore": store}
    return spec if arr is None else described(spec, arr)


def is_remote_storage(tensorstore_spec: dict | str) -> bool:
    """Whether a spec, or a path, is of files that are not on this machine.

    Example:
      >>> from rabbet.experimental.array_serialization.serialization import is_remote_storage
      >>> is_remote_storage("gs://bucket/step/w"), is_remote_storage("/data/step/w")
      (True, False)
    """
    if isinstance(tensorstore_spec, str):
        return tensorstore_spec.partition("://")[0] in REMOTE
    store = tensorstore_spec.get("kvstore", tensorstore_spec)
    if isinstance(store, str):
        return is_remote_storage(store)
    below = store.get("base")
    return store.get("driver") in REMOTE.values() or (below is not None and is_remote_storage(below))


def described(spec, x, chunk_layout=None):
    """A spec that says of a new array what it does not say yet: a chunk is what one device has, where no
    chunk_layout says what it is.
    """
    shape, part = list(x.shape), [max(1, n) for n in x.sharding.shard_shape(x.shape)]
    name = np.dtype(x.dtype).name
    if spec.get("driver") == "zarr3":
        grid = {"name": "regular", "configuration": {"chunk_shape": part}}
        own = {"shape": shape, "data_type": name, **({} if chunk_layout else {"chunk_grid": grid})}
        return {**spec, "metadata": {**own, **spec.get("metadata", {})}}
    own = {"shape": shape, "compressor": COMPRESSOR, **({} if chunk_layout else {"chunks": part})}
    return {"dtype": name, **spec, "metadata": {**own, **spec.get("metadata", {})}}


def parts_of(x, replica_id):
    """Copies of the parts that this process writes: of devices that hold the same part, the one of this
    number does it.
    """
    replica_id = operator.index(replica_id)
    if replica_id == 0:
        return copies_of_parts(x)
    indices = x.sharding.devices_indices_map(x.shape).values()
    replicas = len(indices) // len({str(index) for index in indices})
    if not 0 < replica_id < replicas:
        raise ValueError(
            f"serialize: replica_id is {replica_id}, and each part of the array lies on {replicas} "
            f"device{'s' * (replicas > 1)}, so it is from 0 to {replicas - 1}; 0 writes every array"
        )
    return [(s.index, np.array(s.data)) for s in x.addressable_shards if s.replica_id == replica_id]


def started(
    x, spec, transaction=None, context=None, chunk_layout=None, primary_host=None, replica_id=0
):  # fmt: skip
    """Begin to write the parts of an array that are this process's to write. Their values are copied before
    it returns. Returns a function that waits, or with a list waits until tensorstore has what is written, and
    appends what is to be waited for.
    """
    if not isinstance(x, Array):
        raise TypeError(f"serialize takes an Array, got {type(x).__name__}; rb.device_put makes one")
    if isinstance(x.dtype, dtypes.ExtendedDType):
        raise TypeError(f"serialize: {x.dtype.name} has no form on disk; write rb.random.key_data of keys")
    refuse_addends(x, "serialize: the array")
    parts = parts_of(x, replica_id)
    options = given(transaction=transaction, context=context, chunk_layout=chunk_layout)
    if primary_host is None or operator.index(primary_host) == rb.process_index():
        options["create"] = True
    elif 0 <= primary_host < rb.process_count():
        options["assume_metadata"] = True  # which the primary one writes
    else:
        raise ValueError(
            f"serialize: primary_host is the number of a process, from 0 to {rb.process_count() - 1}, got "
            f"{primary_host}; None has every process make the array that is not there"
        )
    opened = ts.open(ts.Spec(described(spec, x, chunk_layout)), open=True, **options)

    def finish(commits=None):
        array = opened.result()
        if tuple(array.shape) != x.shape or array.dtype.name != np.dtype(x.dtype).name:
            raise CheckpointError(
                f"{spec['kvstore']} holds {array.dtype.name}{list(array.shape)}, and "
                f"{rb.typeof(x).str_short()} was to be written there; choose another place, or remove it"
            )
        writes = [array[index].write(values) for index, values in parts]
        for write in writes:
            (write if commits is None else write.copy).result()
        if commits is not None:
            commits.extend([write.commit for write in writes])

    return finish


def alike(name, **lists):
    """Refuse lists of different lengths; what is None is a list of Nones."""
    count = len(next(iter(lists.values())))
    for what, each in lists.items():
        if each is not None and len(each) != count:
            raise ValueError(f"{name}: {what} has {len(each)} entries for {count} arrays")
    return zip(*[[None] * count if each is None else each for each in lists.values()], strict=True)


class GlobalAsyncCheckpointManager:
    """Writes arrays where tensorstore specs say, on a thread of its own, and reads them.

    Each process writes the parts that its devices have. ``serialize`` returns once their values are copied;
    what goes wrong later is raised by ``check_for_errors``, ``wait_until_finished`` or the next call. Files
    appear as they are written: for checkpoints that are whole or not there use ``rb.store.Checkpoints``.

    Args:
      timeout_secs: how long to wait for the parts of other processes.

    Example:
      >>> import tempfile
      >>> from rabbet.experimental.array_serialization.serialization import GlobalAsyncCheckpointManager
      >>> manager, path = GlobalAsyncCheckpointManager(), f"{tempfile.mkdtemp()}/w"
      >>> w = rb.device_put(np.arange(4, dtype=np.float32))
      >>> manager.serialize_with_paths([w], [path])
      >>> manager.wait_until_finished()
      >>> manager.deserialize_with_paths([w.sharding], [path])
      [Array([0., 1., 2., 3.], dtype=float32)]
    """

    @folded
    def __init__(self, timeout_secs: float = 300):
        self.timeout = timeout_secs
        self._thread = self._error = None
        self._count = 0

    def serialize(self, arrays, tensorstore_specs, *, on_commit_callback=None, transaction=None) -> None:
        """Begin to write arrays; a previous call is waited for.

        Args:
          arrays: ``Array``s.
          tensorstore_specs: where each is written, as ``get_tensorstore_spec`` says it.
          on_commit_callback: called on another thread in each process once all processes have written.
          transaction: a ``tensorstore.Transaction`` to write in; the caller commits it.
        """
        self.wait_until_finished()
        pairs = list(alike("serialize", arrays=arrays, tensorstore_specs=tensorstore_specs))
        finishing = [started(x, spec, transaction) for x, spec in pairs]
        self._count += 1

        def commit():
            try:
                for finish in finishing:
                    finish()
                if rb.process_count() > 1:
                    initialized_group().meet(
                        f"serialized-{self._count}", "arrays could not be written", self.timeout
                    )
                if on_commit_callback is not None:
                    on_commit_callback()
            except Exception as error:
                self._error = error

        self._thread = threading.Thread(target=commit, name="rabbet-serialize")
        self._thread.start()

    def serialize_with_paths(self, arrays, paths, *, on_commit_callback=None, transaction=None) -> None:
        """``serialize``, with a path for each array."""
        specs = [get_tensorstore_spec(path) for path in paths]
        self.serialize(arrays, specs, on_commit_callback=on_commit_callback, transaction=transaction)

    def deserialize(
        self, shardings, tensorstore_specs, global_shapes=None, dtypes=None, concurrent_gb: float = 32
    ) -> list[Array]:
        """Read arrays.

        Args:
          shardings: how each is to lie.
          tensorstore_specs: where each is.
          global_shapes: shapes other than those on disk; what is more is zeros, what is less is left out.
          dtypes: dtypes other than those on disk.
          concurrent_gb: how much of the host's memory, in 10**9 bytes, arrays may take that are being read. A
            larger array is read alone.

        Raises:
          CheckpointError: for what is not there, or cannot be read.
          ValueError: for lists of different lengths, or a ``concurrent_gb`` that is not positive.
        """
        self.wait_until_finished()
        if not concurrent_gb > 0:
            raise ValueError(
                f"deserialize: concurrent_gb is how much memory there is to read into, got {concurrent_gb}; "
                "give a positive number, in 10**9 bytes"
            )
        rows = alike(
            "deserialize", tensorstore_specs=tensorstore_specs, shardings=shardings,
            global_shapes=global_shapes, dtypes=dtypes,
        )  # fmt: skip
        readings = [Reading(place, spec, shape, dtype) for spec, place, shape, dtype in rows]
        return read_all(readings, concurrent_gb * 10**9)

    def deserialize_with_paths(
        self, shardings, paths, global_shapes=None, dtypes=None, concurrent_gb: float = 32
    ) -> list[Array]:
        """``deserialize``, with a path for each array."""
        specs = [get_tensorstore_spec(path) for path in paths]
        return self.deserialize(shardings, specs, global_shapes, dtypes, concurrent_gb)

    def check_for_errors(self) -> None:
        """Raise what went wrong on the other thread."""
        error, self._error = self._error, None
        if error is not None:
            raise error

    def wait_until_finished(self) -> None:
        """Wait until everything is written; raise what went wrong."""
        thread, self._thread = self._thread, None
        if thread is not None:
            thread.join()
        self.check_for_errors()


async def async_serialize(
    arr_inp, tensorstore_spec, commit_future=None, context=None, chunk_layout=None,
    primary_host: int | None = None, replica_id: int = 0, transaction=None,
) -> None:  # fmt: skip
    """Write an array, for programs on ``asyncio``.

    Args:
      arr_inp: an ``Array``.
      tensorstore_spec: where it is written.
      commit_future: a list, to which a ``tensorstore.Future`` is appended for each part that this process
        writes; the values are read when this function returns, and written when these are done. None: this
        function waits for them.
      context: a ``tensorstore.Context``, which limits threads and memory.
      chunk_layout: a ``tensorstore.ChunkLayout``. By default a chunk is what one device has.
      primary_host: the number of the process that writes the description of the array; the others write
        their parts beside it. None: whoever comes first writes it.
      replica_id: which of the devices that hold the same part writes it, as ``Shard.replica_id`` counts.
      transaction: a ``tensorstore.Transaction`` to write in; the caller commits it.

    Example:
      >>> import tempfile
      >>> from rabbet.experimental.array_serialization import serialization
      >>> spec = serialization.get_tensorstore_spec(f"{tempfile.mkdtemp()}/w")
      >>> w = rb.device_put(np.arange(2.0))
      >>> import asyncio
      >>> asyncio.run(serialization.async_serialize(w, spec))
      >>> asyncio.run(serialization.async_deserialize(w.sharding, spec))
      Array([0., 1.], dtype=float32)
    """
    if not (commit_future is None or isinstance(commit_future, list)):
        raise TypeError(
            f"async_serialize: commit_future is a list to append to, got a {type(commit_future).__name__}"
        )
    finish = started(
        arr_inp, tensorstore_spec, transaction, context, chunk_layout, primary_host, replica_id
    )  # fmt: skip
    await asyncio.to_thread(finish, commit_future)


async def async_deserialize(
    in_type, tensorstore_spec, global_shape=None, dtype=None, byte_limiter=None, context=None,
    chunk_layout=None, assume_metadata: bool = False,
) -> Array:  # fmt: skip
    """Read an array that is to lie as ``in_type`` says, for programs on ``asyncio``.

    Args:
      in_type: a sharding, a ``Format``, a device, or a ``ShapeDtypeStruct`` with a sharding.
      tensorstore_spec: where it is.
      global_shape: a shape other than that on disk.
      dtype: a dtype other than that on disk.
      byte_limiter: bounds the host's memory that many readings together take: an object whose coroutines
        ``wait_for_bytes(n)`` and ``release_bytes(n)`` are awaited before each part is read and after it is
        on its devices. None: there is no bound.
      context: a ``tensorstore.Context``, which limits threads and memory.
      chunk_layout: a ``tensorstore.ChunkLayout`` that what is on disk has to satisfy.
      assume_metadata: take what the spec says of the array, without reading its metadata.

    Example:
      >>> import tempfile
      >>> from rabbet.experimental.array_serialization import serialization
      >>> spec = serialization.get_tensorstore_spec(f"{tempfile.mkdtemp()}/w")
      >>> w = rb.device_put(np.arange(2.0))
      >>> import asyncio
      >>> asyncio.run(serialization.async_serialize(w, spec))
      >>> asyncio.run(serialization.async_deserialize(w.sharding, spec))
      Array([0., 1.], dtype=float32)
    """
    options = given(context=context, chunk_layout=chunk_layout, assume_metadata=assume_metadata or None)
    if byte_limiter is None:
        return await asyncio.to_thread(
            lambda: read(in_type, tensorstore_spec, global_shape, dtype, **options)
        )
    if not hasattr(byte_limiter, "wait_for_bytes") or not hasattr(byte_limiter, "release_bytes"):
        raise TypeError(
            "async_deserialize: byte_limiter has the coroutines wait_for_bytes(n) and release_bytes(n), got "
            f"a {type(byte_limiter).__name__}; None reads without a bound"
        )
    reading = Reading(in_type, tensorstore_spec, global_shape, dtype, **options)
    return await read_within(reading, byte_limiter)


def run_serialization(arrays, tensorstore_specs) -> None:
    """Write arrays and wait for it.

    Example:
      >>> import tempfile
      >>> from rabbet.experimental.array_serialization import serialization
      >>> spec = serialization.get_tensorstore_spec(f"{tempfile.mkdtemp()}/w")
      >>> w = rb.device_put(np.arange(2.0))
      >>> serialization.run_serialization([w], [spec])
      >>> serialization.run_deserialization([w.sharding], [spec])
      [Array([0., 1.], dtype=float32)]
    """
    pairs = alike("run_serialization", arrays=arrays, tensorstore_specs=tensorstore_specs)
    for finish in [started(x, spec) for x, spec in pairs]:
        finish()


def run_deserialization(
    shardings, tensorstore_specs, global_shapes=None, dtypes=None, concurrent_gb: float = 32
) -> list[Array]:
    """Read arrays; see ``GlobalAsyncCheckpointManager.deserialize``.

    Example:
      >>> import tempfile
      >>> from rabbet.experimental.array_serialization import serialization
      >>> spec = serialization.get_tensorstore_spec(f"{tempfile.mkdtemp()}/w")
      >>> w = rb.device_put(np.arange(2.0))
      >>> serialization.run_serialization([w], [spec])
      >>> serialization.run_deserialization([w.sharding], [spec])
      [Array([0., 1.], dtype=float32)]
    """
    manager = GlobalAsyncCheckpointManager()
    return manager.deserialize(shardings, tensorstore_specs, global_shapes, dtypes, concurrent_gb)


__all__ = [
    "GlobalAsyncCheckpointManager", "async_deserialize", "async_serialize", "get_tensorstore_spec",
    "is_remote_storage", "run_deserialization", "run_serialization",
]  # fmt: skip
