"""``Checkpoints``: a folder with the states of a program, by step."""

import contextlib
import os
import re
import secrets
import shutil
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import rabbet as rb
from rabbet import Array, dtypes, tree
from rabbet.errors import ShardingError, TreeError
from rabbet.extend.functions import folded
from rabbet.extend.sharding import Sharding

from rabbet_store import arrays, manifest
from rabbet_store.errors import CheckpointError

FINAL = re.compile(r"step-(\d+)")
WRITING, LEAVING = ".writing-", ".deleting-"
PAUSE, LOOK_SECONDS = 0.02, 0.5


class Checkpoints:
    """A folder with the states of a program, by step. All processes use it alike; they need to see the same
    files.

    A checkpoint appears in the folder when it is whole: a process that ends while it writes leaves what was
    there before. Each process writes the parts that its devices have; each chunk has a checksum.

    Args:
      folder: where they are. It is made when the first one is written.
      keep: how many to keep: the one written last, and of the others those of the highest steps; None: all.
      timeout_seconds: how long to wait for the parts of other processes.

    Example:
      >>> import tempfile
      >>> checkpoints = rb.store.Checkpoints(tempfile.mkdtemp(), keep=2)
      >>> checkpoints.save(1, {"w": rb.device_put(np.ones(3, np.float32)), "epoch": 4})
      >>> checkpoints.wait()
      >>> checkpoints.load()
      {'epoch': 4, 'w': Array([1., 1., 1.], dtype=float32)}
    """

    @folded
    def __init__(self, folder: str | os.PathLike, *, keep: int | None = None, timeout_seconds: float = 600):
        if keep is not None and keep < 1:
            raise ValueError(f"keep must be at least 1, or None for all, got {keep}")
        self.folder, self.keep, self.timeout = Path(folder).absolute(), keep, timeout_seconds
        self._thread: threading.Thread | None = None
        self._error: BaseException | None = None
        self._given_up = threading.Event()

    def __repr__(self):
        return f"Checkpoints({str(self.folder)!r}, steps={self.steps()})"

    # ------------------------------------------------------------------------------------- what is there
    def steps(self) -> list[int]:
        """The steps of which there are checkpoints, in order."""
        if not self.folder.is_dir():
            return []
        found = [FINAL.fullmatch(each.name) for each in self.folder.iterdir()]
        return sorted([int(match[1]) for match in found if match])

    def latest(self) -> int | None:
        """The last step of which there is one, or None."""
        return max(self.steps(), default=None)

    def path(self, step: int) -> Path:
        """The folder of one checkpoint."""
        return self.folder / f"step-{int(step):010d}"

    # ------------------------------------------------------------------------------------------- writing
    @folded
    def save(self, step: int, state: Any, *, wait: bool = False) -> None:
        """Write a pytree of arrays, numbers and strings. Values are copied before this returns; the files are
        written meanwhile. All processes call it, with the same tree.

        Args:
          step: its number; there must be none of it yet.
          state: the pytree. Arrays may lie over the devices of several processes; NumPy arrays are those of
            process 0.
          wait: return when it is written.

        Raises:
          FileExistsError: if there is a checkpoint of that step.
          CheckpointError: if the one before this could not be written. TypeError: for a leaf that is none of
            these, and for a dtype or a key of a dict that could not be read again.
        """
        self.wait()
        if self.path(step).exists():
            raise FileExistsError(f"there is a checkpoint of step {step} already: {self.path(step)}")
        leaves = [leaf_of(i, path, x) for i, (path, x) in enumerate(tree.flatten_with_path(state)[0])]
        temporary = self.folder / f"{WRITING}{int(step)}-{agreed_token()}"
        self._given_up.clear()
        arguments = (int(step), temporary, leaves, rb.process_index(), rb.process_count())
        self._thread = threading.Thread(target=self._write, args=arguments, name="rabbet-store")
        self._thread.start()
        if wait:
            self.wait()

    def wait(self) -> None:
        """Wait until what was saved is written.

        Raises:
          CheckpointError: if it could not be written.
        """
        thread, self._thread = self._thread, None
        if thread is not None:
            thread.join()
        error, self._error = self._error, None
        if error is not None:
            raise CheckpointError(f"a checkpoint in {self.folder} could not be written: {error}") from error

    def abandon(self) -> None:
        """Give up what is being written, because a process is lost: others would wait for its parts. What was
        written before stays.
        """
        self._given_up.set()
        thread, self._thread = self._thread, None
        if thread is not None:
            thread.join()
        self._error = None

    def _write(self, step, temporary, leaves, index, count):
        try:
            temporary.mkdir(parents=True, exist_ok=True)
            futures = [f for leaf in leaves for f in leaf.write(temporary)]
            for future in futures:
                future.result()
            (temporary / f"done-{index}").touch()
            if index == 0:
                self._commit(step, temporary, leaves, count)
            else:
                self._until(
                    self.path(step).exists, lambda: [0], lambda _: "process 0 did not finish the checkpoint"
                )
        except BaseException as error:
            self._error = error

    def _commit(self, step, temporary, leaves, count):
        """As process 0: once all have written, give the checkpoint its name."""

        def missing():
            return [i for i in range(count) if not (temporary / f"done-{i}").exists()]

        self._until(lambda: not missing(), missing, lambda who: f"processes {who} did not write their parts")
        for i in range(count):
            (temporary / f"done-{i}").unlink()
        manifest.write(temporary, step, [leaf.row for leaf in leaves], {"processes": count})
        temporary.rename(self.path(step))
        manifest.sync_folder(self.folder)
        self._remove_old(step)

    def _until(self, condition, waited_for, message):
        """Return when the condition is met. ``waited_for()`` are the numbers of processes; ``message`` of
        them says what they did not do.
        """
        started = asked = time.monotonic()
        while not condition():
            now = time.monotonic()
            if self._given_up.is_set():
                raise CheckpointError("it was given up")
            if now - started > self.timeout:
                raise CheckpointError(f"{message(waited_for())} within {self.timeout:g} s")
            if now - asked > LOOK_SECONDS:
                asked = now
                lost = rb.distributed.lost()
                who = [i for i in waited_for() if i in lost]
                if who and not condition():
                    raise CheckpointError(f"{message(who)}: {lost[who[0]]}")
            time.sleep(PAUSE)

    def _remove_old(self, written):
        """Keep the one just written, whatever its number, and the latest of the others."""
        others = [step for step in self.steps() if step != written]
        for step in others[: max(0, len(others) - self.keep + 1)] if self.keep else ():
            gone = self.folder / f"{LEAVING}{step}-{secrets.token_hex(4)}"
            with contextlib.suppress(OSError):
                self.path(step).rename(gone)
        for each in self.folder.glob(f"{LEAVING}*"):
            shutil.rmtree(each, ignore_errors=True)

    def clean(self) -> list[str]:
        """Remove what writers that ended have left behind; return the names. Call it while nobody writes."""
        left = [*self.folder.glob(f"{WRITING}*"), *self.folder.glob(f"{LEAVING}*")]
        for each in left:
            shutil.rmtree(each, ignore_errors=True)
        return sorted([each.name for each in left])

    # ------------------------------------------------------------------------------------------- reading
    @folded
    def load(self, step: int | None = None, *, like: Any = None, shardings: Any = None) -> Any:
        """Read a checkpoint. The mesh and the number of processes may be other ones than it was written with.

        Args:
          step: its number; None: the latest.
          like: a pytree of the same structure with arrays or ``rb.ShapeDtypeStruct``s, which says the shapes
            and dtypes to expect, and how the arrays shall lie. None: the result is made of dicts and lists.
          shardings: a ``Sharding`` or device, or a pytree of these that is a prefix of the state.

        Returns:
          the pytree. Arrays are on the default device where nothing says otherwise.

        Raises:
          CheckpointError: where there is none, for a chunk that is missing or damaged, and for an array of
            another shape or dtype than ``like`` has; names the array.
        """
        step = self.latest() if step is None else step
        if step is None:
            raise CheckpointError(f"there is no checkpoint in {self.folder}")
        rows = manifest.read(self.path(step))["leaves"]
        if like is None:
            structure = tree.structure(manifest.rebuilt([(r["way"], i) for i, r in enumerate(rows)]))
            order = tree.leaves(manifest.rebuilt([(r["way"], i) for i, r in enumerate(rows)]))
            rows, wanted = [rows[i] for i in order], [None] * len(rows)
        else:
            pairs, structure = tree.flatten_with_path(like)
            rows = [self._row(rows, path, step) for path, _ in pairs]
            wanted = [x for _, x in pairs]
        places = places_for(shardings, structure, wanted)
        loading = [Loading(self.path(step), *each) for each in zip(rows, wanted, places, strict=True)]
        return structure.unflatten([each.finish() for each in loading])

    def _row(self, rows, path, step):
        way = manifest.way_of(path)
        for row in rows:
            if row["way"] == way:
                return row
        known = ", ".join([row["name"] for row in rows[:8]])
        raise CheckpointError(
            f"the checkpoint of step {step} has no {tree.keystr(path) or 'single value'}; it has {known}"
        )

    @folded
    def verify(self, step: int | None = None) -> int:
        """Read all of a checkpoint and compare checksums; return the number of its leaves.

        Raises:
          CheckpointError: for what is missing or damaged; names the array and the file.
        """
        step = self.latest() if step is None else step
        if step is None:
            raise CheckpointError(f"there is no checkpoint in {self.folder}")
        rows = manifest.read(self.path(step))["leaves"]
        for row in rows:
            if "value" not in row:
                reader_of(self.path(step), row).verify()
        return len(rows)


class Leaf:
    """A leaf of a state, copied from the devices.

    Attributes:
      row: what the manifest says of it.
      parts: pairs of an index and NumPy values, which this process writes.
    """

    def __init__(self, row, parts=()):
        self.row, self.parts = row, parts

    def write(self, folder):
        """Begin to write; returns futures."""
        if "value" in self.row:
            return []
        row = self.row
        dtype = self.parts[0][1].dtype if self.parts else None
        if dtype is None:
            return []
        return arrays.write(folder / row["folder"], row["shape"], dtype, row["chunk"], self.parts)


def leaf_of(number, path, x):
    """A ``Leaf``, the one of this number in its tree."""
    name = tree.keystr(path) or "the value"
    row = {"way": manifest.way_of(path), "name": name}
    if isinstance(x, (bool, int, float, str)) and not isinstance(x, np.generic):
        return Leaf({**row, "value": x})
    if isinstance(x, (np.ndarray, np.generic)):
        host = as_known(np.array(x), name)
        parts = [((slice(None),) * host.ndim, host)] if rb.process_index() == 0 else []
        part = host.shape
    elif isinstance(x, Array) and x.aval.is_extended:
        raise TypeError(
            f"{name} is an array of keys; save rb.random.key_data(key) and wrap it when it is loaded"
        )
    elif isinstance(x, Array):
        host, part = x, x.sharding.shard_shape(x.shape)
        # Who has the first copy of a part writes it.
        parts = [(s.index, np.array(s.data)) for s in x.addressable_shards if s.replica_id == 0]
    else:
        raise TypeError(f"{name} is a {type(x).__name__}; checkpoints hold arrays, numbers and strings")
    chunk = arrays.chunk_of(part, host.dtype.itemsize)
    row |= {"folder": f"array-{number}", "shape": list(host.shape), "dtype": host.dtype.name, "chunk": chunk}
    return Leaf(row | {"numpy": not isinstance(x, Array)}, parts)


def as_known(values, name):
    """NumPy values in the byte order of this machine.

    Raises:
      TypeError: for a dtype that could not be read again.
    """
    dtype = values.dtype.newbyteorder("=")
    try:
        known = np.dtype(dtypes.canonicalize(dtype.name)) == dtype
    except (TypeError, ValueError):
        known = False
    if not known:
        raise TypeError(
            f"{name} has the dtype {values.dtype}, which is none of Rabbet's; save it as numbers, or as "
            "bytes in an array of uint8"
        )
    return values.astype(dtype, copy=False)


def agreed_token():
    """A random text that all processes share."""
    token = secrets.token_bytes(6)
    if rb.process_count() > 1:
        token = rb.experimental.multihost_utils.broadcast_one_to_all(np.frombuffer(token, np.uint8)).tobytes()
    return token.hex()


def reader_of(folder, row):
    """The ``Reader`` of a row of the manifest."""
    return arrays.Reader(folder / row["folder"], row["shape"], row["dtype"], row["name"])


def places_for(shardings, structure, wanted):
    """Where each leaf shall be: a ``Sharding``, a device, or None."""
    if shardings is not None:
        full = structure.unflatten(range(structure.num_leaves))
        try:
            return tree.broadcast_prefix(
                shardings, full, lambda s: s is None, names=("shardings", "the state")
            )
        except TreeError as error:
            raise TreeError(f"Checkpoints.load: {error}") from None
    return [getattr(x, "sharding", None) for x in wanted]


class Loading:
    """A leaf on its way from disk: its parts are being read from the beginning."""

    def __init__(self, folder, row, wanted, place):
        self.row, self.place = row, place
        if "value" in row:
            return
        self.reader = reader_of(folder, row)
        shape, dtype = self.reader.shape, self.reader.dtype
        self.check(wanted, shape, dtype)
        whole = tuple([slice(0, n) for n in shape])
        indices = [whole]
        if isinstance(place, Sharding) and place.num_devices > 1:
            try:
                indices = [plain(i, shape) for i in place.addressable_devices_indices_map(shape).values()]
            except ShardingError as error:
                raise ShardingError(f"{row['name']} of the checkpoint: {error}") from None
        self.futures = {key(i): (i, self.reader.start(i)) for i in indices}

    def check(self, wanted, shape, dtype):
        """Compare with what was expected."""
        if wanted is None or not hasattr(wanted, "shape"):
            return
        if tuple(wanted.shape) != shape or np.dtype(wanted.dtype).newbyteorder("=") != dtype:
            raise CheckpointError(
                f"{self.row['name']} of the checkpoint is {dtype.name}{list(shape)}, and "
                f"{wanted.dtype}{list(wanted.shape)} was expected"
            )

    def finish(self):
        """The leaf."""
        if "value" in self.row:
            return self.row["value"]
        shape = self.reader.shape

        def part(index):
            return self.reader.finish(*self.futures[key(plain(index, shape))])

        if isinstance(self.place, Sharding) and self.place.num_devices > 1:
            return rb.make_array_from_callback(shape, self.place, part, dtype=self.reader.dtype)
        values = part(tuple([slice(0, n) for n in shape]))
        return values if self.row["numpy"] and self.place is None else on_device(values, self.place)


def on_device(values, place):
    """NumPy values as an array of just their dtype, on one device."""
    sharding = rb.device_put(0).sharding if place is None else as_sharding(place)
    made = rb.make_array_from_callback(values.shape, sharding, lambda index: values, dtype=values.dtype)
    return made if place is None else rb.device_put(made, place)


def as_sharding(place):
    """A sharding for a device or a sharding."""
    from rabbet.sharding import SingleDeviceSharding

    return place if isinstance(place, Sharding) else SingleDeviceSharding(place)


def plain(index, shape):
    """An index with both ends of each slice."""
    return tuple([slice(*s.indices(n)[:2]) for s, n in zip(index, shape, strict=True)])


def key(index):
    """A key for an index."""
    return tuple([(s.start, s.stop) for s in index])


__all__ = ["Checkpoints"]
