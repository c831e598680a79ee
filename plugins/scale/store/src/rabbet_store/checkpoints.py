"""``Checkpoints``: a folder with the states of a program, by step."""

import operator
import os
import re
import threading
from pathlib import Path
from typing import Any

from rabbet.extend.functions import folded

from rabbet_store import locks, manifest, structure
from rabbet_store.arrays import Reader
from rabbet_store.errors import CheckpointError
from rabbet_store.leaves import leaves_of
from rabbet_store.loading import State, check_load
from rabbet_store.writing import Writing, remove_old

FINAL = re.compile(r"step-(-?\d+)")


class Checkpoints:
    """A folder with the states of a program, by step. All processes use it alike; they need to see the same
    files.

    A checkpoint appears in the folder when it is whole: a process that ends while it writes leaves what was
    there before, and what it left is removed when somebody saves again. Each process writes the parts that
    its devices have; each chunk has a checksum. Several threads may use one object, and several programs one
    folder.

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
        if keep is not None and number(keep, "keep") < 1:
            raise ValueError(f"keep must be at least 1, or None for all, got {keep}")
        self.folder, self.keep, self.timeout = Path(folder).absolute(), keep, timeout_seconds
        self._lock = threading.RLock()
        self._writing: Writing | None = None

    def __repr__(self):
        return f"Checkpoints({str(self.folder)!r}, steps={self.steps()})"

    # ------------------------------------------------------------------------------------- what is there
    def steps(self) -> list[int]:
        """The steps of which there are checkpoints, in order."""
        try:
            names = os.listdir(self.folder)
        except (FileNotFoundError, NotADirectoryError):
            return []
        found = [FINAL.fullmatch(name) for name in names]
        return sorted({int(match[1]) for match in found if match and self._is_there(int(match[1]))})

    def _is_there(self, step):
        """Whether there is a folder with something in it."""
        try:
            return bool(os.listdir(self.path(step)))
        except OSError:
            return False

    def latest(self) -> int | None:
        """The last step of which there is one, or None."""
        return max(self.steps(), default=None)

    def path(self, step: int) -> Path:
        """The folder of one checkpoint."""
        return self.folder / f"step-{number(step, 'step'):010d}"

    # ------------------------------------------------------------------------------------------- writing
    @folded
    def save(self, step: int, state: Any, *, wait: bool = False) -> None:
        """Write a pytree of arrays, numbers and strings. Values are copied before this returns; the files are
        written meanwhile. All processes call it, with the same tree.

        Structure is saved with them: dicts, lists, tuples, None, empty ones, named tuples, registered classes
        with those of their metadata that are plain values; numbers and NumPy's scalars with their types,
        typed random keys with their generator.

        Args:
          step: its number, an integer; there must be none of it yet.
          state: the pytree. Arrays may lie over the devices of several processes; NumPy arrays are those of
            process 0.
          wait: return when it is written.

        Raises:
          FileExistsError: if there is a checkpoint of that step.
          CheckpointError: if the one before this could not be written. TypeError: for a leaf that is none of
            these, for a dtype or a key of a dict that could not be read again, and for a step that is no
            integer. ValueError: for a masked array.
        """
        final, step = self.path(step), number(step, "step")
        with self._lock:
            self.wait()
            if self._is_there(step) or (final.exists() and not final.is_dir()):
                raise FileExistsError(f"there is a checkpoint of step {step} already: {final}")
            nodes, found = structure.taken_apart(state)
            leaves = leaves_of(found)
            writing = Writing(final, step, nodes, leaves, lambda done: remove_old(self, done), self.timeout)
            self._writing = writing
            writing.start()
        if wait:
            self._finish(writing)

    def wait(self) -> None:
        """Wait until what was saved is written.

        Raises:
          CheckpointError: if it could not be written.
        """
        self._finish(self._writing)

    def _finish(self, writing):
        if writing is None:
            return
        writing.join()
        with self._lock:
            if self._writing is writing:
                self._writing = None
            error, writing.error = writing.error, None
        if error is not None:
            raise CheckpointError(f"a checkpoint in {self.folder} could not be written: {error}") from error

    def abandon(self) -> None:
        """Give up what is being written, because a process is lost: others would wait for its parts. What was
        written before stays.
        """
        writing = self._writing  # without the lock: another thread may hold it and wait for this very one
        if writing is None:
            return
        writing.given_up.set()
        writing.join()
        writing.error = None
        if self._writing is writing:
            self._writing = None

    def clean(self) -> list[str]:
        """Remove what writers that ended have left behind; return the names. ``save`` does it too. On a file
        system without locks, where nobody can tell whether a writer has ended, call it while nobody writes.
        """
        return sorted(locks.remove_left(self.folder, doubtful=True))

    # ------------------------------------------------------------------------------------------- reading
    @folded
    def load(
        self, step: int | None = None, *, like: Any = None, shardings: Any = None, partial: bool = False,
        plain: bool = False,
    ) -> Any:  # fmt: skip
        """Read a checkpoint. The mesh and the number of processes may be other ones than it was written with.

        Args:
          step: its number; None: the latest.
          like: a pytree of the same structure with arrays or ``rb.ShapeDtypeStruct``s, which says the shapes
            and dtypes to expect, and where the arrays should lie. None: the structure that was saved;
            its classes must be registered in this program.
          shardings: a ``Sharding`` or device, or a pytree of these that is a prefix of the state.
          partial: take what ``like`` has and leave out the rest; other kinds of containers will do, too.
          plain: without ``like``, dicts and lists stand for classes.

        Returns:
          the pytree. Arrays are on the default device where nothing says otherwise.

        Raises:
          CheckpointError: where there is none, for a chunk that is missing or damaged, where the structure is
            not that of ``like``, and for an array of another shape or dtype; names the array.

        Example:
          >>> import tempfile
          >>> checkpoints = rb.store.Checkpoints(tempfile.mkdtemp())
          >>> checkpoints.save(1, {"params": np.ones(2), "moments": np.zeros(2)}, wait=True)
          >>> checkpoints.load(like={"params": np.ones(2)}, partial=True)
          {'params': array([1., 1.])}
        """
        check_load(like, partial, plain)
        if step is not None:
            return self._load(number(step, "step"), like, shardings, partial, plain)
        while True:
            latest = self._latest()
            try:
                return self._load(latest, like, shardings, partial, plain)
            except CheckpointError:
                # A program that keeps a few only may have removed it meanwhile: then there is a later one.
                if self._is_there(latest) or self.latest() in (None, latest):
                    raise

    def _latest(self):
        step = self.latest()
        if step is None:
            raise CheckpointError(f"there is no checkpoint in {self.folder}")
        return step

    def _load(self, step, like, shardings, partial, plain):
        folder = self.path(step)
        return State(step, manifest.read(folder, step), folder, like, shardings, partial, plain).finish()

    @folded
    def verify(self, step: int | None = None) -> int:
        """Read all of a checkpoint and compare checksums; return the number of its leaves.

        Raises:
          CheckpointError: for what is missing or damaged; names the array and the file.
        """
        step = self._latest() if step is None else number(step, "step")
        rows = manifest.read(self.path(step), step)["leaves"]
        for row in rows:
            if "value" not in row:
                Reader(self.path(step), row).verify()
        return len(rows)


def number(x, name):
    """An integer. Raises TypeError for what is none, True and False included."""
    try:
        if isinstance(x, bool):
            raise TypeError
        return operator.index(x)
    except TypeError:
        raise TypeError(f"{name} must be an integer, got {x!r:.60}") from None


__all__ = ["Checkpoints"]
