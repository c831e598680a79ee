"""One checkpoint that is being written, by a thread of each process: parts first, then the table of contents,
then its name. Whatever goes wrong, nothing of it stays.
"""

import contextlib
import ctypes
import json
import os
import secrets
import shutil
import threading
import time

import numpy as np
import rabbet as rb

from rabbet_store import arrays, locks, manifest
from rabbet_store.errors import CheckpointError

PAUSE, LOOK_SECONDS, GRACE_SECONDS = 0.02, 0.5, 5


class Writing:
    """A checkpoint on its way. ``start`` begins, ``join`` ends, ``error`` says what went wrong.

    Args:
      final: the folder that it is to become.
      step, nodes, leaves: what it holds.
      committed: called once it is there.
      timeout: how long to wait for other processes, in seconds.
    """

    def __init__(self, final, step, nodes, leaves, committed, timeout):
        self.final, self.step, self.nodes, self.leaves = final, step, nodes, leaves
        self.committed, self.timeout = committed, timeout
        self.index, self.count = rb.process_index(), rb.process_count()
        self.error = None
        self.given_up = threading.Event()
        self.lock = None
        token = secrets.token_bytes(6)
        if self.index == 0:
            try:
                self.lock = locks.Held(final.parent, token.hex())
            except OSError as error:
                self.error = error
        self.temporary = final.parent / f"{locks.WRITING}{step}-{agreed(token)}"
        self.thread = threading.Thread(target=self.run, name="rabbet-store")
        # A signal may interrupt ``start`` anywhere: before there is a thread, or while it is waited for.
        self.started, self.ended = False, threading.Event()
        self.taken = {}  # by whom: the thread as it begins, or who gives up one that never began

    def start(self):
        """Begin."""
        self.thread.start()
        self.started = True

    def join(self):
        """Wait for its end. What was interrupted before it began is given up: nothing of it was written."""
        if self.started:
            self.thread.join()
        elif self.taken.setdefault("by", "join") == "join":
            self.end()
        else:
            self.ended.wait()

    def run(self):
        """All of it; what goes wrong is kept as ``error``."""
        if self.taken.setdefault("by", "run") != "run":
            return
        try:
            if self.error is None:
                if self.index == 0:
                    locks.remove_left(self.final.parent)
                self.write()
        except BaseException as error:
            self.error = error
        try:
            if self.error is not None:
                self.leave()
        finally:
            self.end()

    def end(self):
        """Let go of values and of the lock."""
        self.leaves = None
        lock, self.lock = self.lock, None
        if lock is not None:
            lock.release()
        self.ended.set()

    def write(self):
        """The parts of this process, and what process 0 does then."""
        self.temporary.mkdir(parents=True, exist_ok=True)
        sums = self.write_parts()
        to_disk(self.temporary)
        if self.index == 0:
            self.commit(sums)
            return
        write_whole(self.temporary / f"done-{self.index}", json.dumps(sums))
        gone_since = None
        for _ in self.turns(lambda: [0], lambda _: "process 0 did not finish the checkpoint"):
            if self.final.exists():
                return
            if self.temporary.exists():
                gone_since = None
            elif gone_since is None:
                gone_since = time.monotonic()
            elif time.monotonic() - gone_since > GRACE_SECONDS:
                raise CheckpointError("process 0 gave it up")

    def write_parts(self):
        """Write the parts of this process; the checksums of its chunks by leaf and number."""
        how = arrays.context()
        mine = [leaf for leaf in self.leaves if leaf.has_files]
        opened = []
        for leaf in mine:
            row, dtype = leaf.row, leaf.parts[0][1].dtype
            folder = self.temporary / row["folder"]
            opened.append(arrays.create(folder, row["shape"], dtype, row["chunk"], how))
        futures = []
        for leaf, array in zip(mine, opened, strict=True):
            found = array.result()
            futures += [found[index].write(arrays.as_stored(values)) for index, values in leaf.parts]
        for future in futures:
            future.result()
        sums = {}
        for leaf in mine:
            row, dtype = leaf.row, leaf.parts[0][1].dtype
            size = arrays.bytes_of_chunk(row["chunk"], dtype)
            folder = self.temporary / row["folder"]
            below = sums[row["folder"]] = {}
            for index, _ in leaf.parts:
                for number, place in arrays.chunks_within(index, row["shape"], row["chunk"]):
                    below[number] = arrays.checksum_of(arrays.chunk_path(folder, place), size)
        return sums

    def commit(self, sums):
        """As process 0: once all have written, give the checkpoint its name."""
        found = {folder: dict(below) for folder, below in sums.items()}
        for i, theirs in self.of_others():
            for folder, below in theirs.items():
                found.setdefault(folder, {}).update({int(n): s for n, s in below.items()})
            (self.temporary / f"done-{i}").unlink()
        rows = [leaf.row for leaf in self.leaves]
        for row in rows:
            if "value" not in row and 0 not in row["shape"]:
                count = int(np.prod(arrays.grid(row["shape"], row["chunk"]), dtype=np.int64))
                row["crc32c"] = [found[row["folder"]][n] for n in range(count)]
                row["metadata"] = arrays.digest_of(self.temporary / row["folder"] / "zarr.json")
        manifest.write(self.temporary, self.step, self.nodes, rows, {"processes": self.count})
        if self.given_up.is_set():
            raise CheckpointError("it was given up")
        try:
            self.temporary.rename(self.final)
        except OSError as error:
            if self.final.exists():
                raise CheckpointError(
                    f"there is one of step {self.step} already, which somebody else has written meanwhile"
                ) from error
            raise
        manifest.sync_folder(self.final.parent)
        self.committed(self.step)

    def of_others(self):
        """For each other process its number and the checksums of its chunks, as they come."""
        due = list(range(1, self.count))
        for _ in self.turns(lambda: due, lambda who: f"processes {who} did not write their parts"):
            for i in list(due):
                if (self.temporary / f"done-{i}").exists():
                    due.remove(i)
                    yield i, json.loads((self.temporary / f"done-{i}").read_text())
            for each in self.temporary.glob("failed-*"):
                raise CheckpointError(
                    f"process {each.name[7:]} could not write its parts: {each.read_text()}"
                )
            if not self.temporary.exists():
                raise CheckpointError(f"processes {due} gave it up")
            if not due:
                return

    def turns(self, waited_for, message):
        """Look again and again. ``waited_for()`` are the numbers of processes; ``message`` of them says what
        they did not do.
        """
        started = asked = time.monotonic()
        while True:
            yield
            now = time.monotonic()
            if self.given_up.is_set():
                raise CheckpointError("it was given up")
            if now - started > self.timeout:
                raise CheckpointError(f"{message(waited_for())} within {self.timeout:g} s")
            if now - asked > LOOK_SECONDS:
                asked = now
                lost = rb.distributed.lost()
                who = [i for i in waited_for() if i in lost]
                if who:
                    yield  # it may have done its part before
                    raise CheckpointError(f"{message(who)}: {lost[who[0]]}")
            time.sleep(PAUSE)

    def leave(self):
        """Remove what there is of it, and have the others know."""
        if self.index == 0 or self.given_up.is_set():
            if self.index == 0:
                shutil.rmtree(self.temporary, ignore_errors=True)
            return
        try:
            write_whole(self.temporary / f"failed-{self.index}", f"{self.error}"[:1000])
        except OSError:
            shutil.rmtree(self.temporary, ignore_errors=True)


def write_whole(path, text):
    """Write a file that others wait for: it appears when it is whole."""
    partly = path.with_name(f"{path.name}.part")
    partly.write_text(text)
    partly.rename(path)


def agreed(token):
    """The bytes of process 0, as a text that all processes share."""
    if rb.process_count() > 1:
        token = rb.experimental.multihost_utils.broadcast_one_to_all(np.frombuffer(token, np.uint8)).tobytes()
    return token.hex()


def to_disk(folder):
    """Have the system write all that it keeps of a file system to the disk.

    Raises:
      OSError: where it could not.
    """
    syncfs = getattr(ctypes.CDLL(None, use_errno=True), "syncfs", None)
    if syncfs is None:
        os.sync()
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        if syncfs(descriptor) != 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number), str(folder))
    finally:
        os.close(descriptor)


def remove_old(checkpoints, written):
    """Keep the one just written, whatever its number, and the latest of the others."""
    keep = checkpoints.keep
    others = [step for step in checkpoints.steps() if step != written]
    for step in others[: max(0, len(others) - keep + 1)] if keep else ():
        gone = checkpoints.folder / f"{locks.LEAVING}{step}-{secrets.token_hex(4)}"
        with contextlib.suppress(OSError):
            checkpoints.path(step).rename(gone)
    for each in checkpoints.folder.glob(f"{locks.LEAVING}*"):
        shutil.rmtree(each, ignore_errors=True)


__all__ = ["Writing", "remove_old"]
