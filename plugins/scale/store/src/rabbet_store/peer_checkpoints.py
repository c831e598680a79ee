"""``PeerCheckpoints``: the last states of a program near its processes, each with copies at others."""

import contextlib
import json
import os
import re
import socket
import threading
import time
import warnings
from pathlib import Path
from typing import Any

import rabbet as rb
from rabbet.extend.functions import folded

from rabbet_store import between_processes, mail, parts_file, structure
from rabbet_store.checkpoints import number
from rabbet_store.errors import CheckpointError
from rabbet_store.leaves import leaves_of
from rabbet_store.loading import State, check_load
from rabbet_store.manifest import FORMAT
from rabbet_store.writing import agreed

LEFT_SECONDS = 600
LATE_SECONDS = 20  # for which the copies of others are waited for
NAME = re.compile(r"step(-?\d+)-([0-9a-f]{12})-(\d+)of(\d+)")


class PeerCheckpoints:
    """The last states of a program in a folder of each machine, most often in its memory, with copies of each
    process's parts at other processes. After a failure the parts of a process that is gone come from them,
    without a look at the shared store.

    Each process writes all parts that its own devices have, so that those that are still there read only
    their own. The copies go to the next process on another machine. Each file has a checksum for each part
    and has its name once it is whole; a step counts when the parts of all processes are there. All processes
    make it, and call ``save``, ``load``, ``steps`` and ``latest``, alike; in one process several threads may.

    Args:
      folder: on each machine; several processes of a machine may share it. One in the machine's memory, such
        as ``/dev/shm/run7``, survives processes that are killed; one on a local disk also a restart of the
        machine.
      copies: at how many other processes the parts of each one are kept.
      keep: how many steps to keep, at least 2: one of them is whole while the next one is written.

    Example:
      >>> import tempfile
      >>> near = rb.store.PeerCheckpoints(tempfile.mkdtemp())
      >>> near.save(1, {"w": rb.device_put(np.ones(3, np.float32)), "epoch": 4})
      >>> near.load()
      {'epoch': 4, 'w': Array([1., 1., 1.], dtype=float32)}
    """

    @folded
    def __init__(self, folder: str | os.PathLike, *, copies: int = 1, keep: int = 2):
        if number(copies, "copies") < 0:
            raise ValueError(f"copies must be 0 or more, got {copies}")
        if number(keep, "keep") < 2:
            raise ValueError(
                f"keep must be at least 2, got {keep}: a step is whole when all processes have written it, "
                "and until then the one before is needed"
            )
        self.folder, self.copies, self.keep = Path(folder).absolute(), copies, keep
        self._thread: threading.Thread | None = None
        self._error: BaseException | None = None
        self._lock = threading.RLock()
        self._met: Any = None  # the processes for which the following was found out
        self._mail: mail.Mail | None = None
        self._right: list[int] = []  # how far the processes are to which copies go
        self._first = self._count = 0

    def __repr__(self):
        return f"PeerCheckpoints({str(self.folder)!r}, copies={self.copies}, keep={self.keep})"

    # ------------------------------------------------------------------------------------------- writing
    @folded
    def save(self, step: int, state: Any, *, wait: bool = False) -> None:
        """Keep a pytree as of a step. It returns when values are copied from the devices; files are written
        and copies sent meanwhile. A step that is there already is written anew.

        The copies go over connections of their own between the processes that ``rb.distributed`` joined;
        where these do not get through to each other, over the devices, before it returns.

        Args:
          step: its number.
          state: as for ``Checkpoints.save``; NumPy arrays are each process's own.
          wait: return when it is written, and the copies are.

        Raises:
          CheckpointError: if the one before could not be written, or its copies not sent. TypeError,
            ValueError: as of ``Checkpoints.save``.
        """
        step = number(step, "step")
        with self._lock:
            self._finish()
            nodes, found = structure.taken_apart(state)
            leaves = leaves_of(found, all_parts=True)
            self._meet()
            token, right = self._token(), self._right
            index, count = rb.process_index(), rb.process_count()
            facts = {"format": FORMAT, "step": step, "tree": nodes, "leaves": [leaf.row for leaf in leaves]}
            name = lambda owner: f"step{step}-{token}-{owner % count}of{count}"
            targets = [(index + steps) % count for steps in right]
            coming = {name(index - steps): None for steps in right}
            content = None
            if right and self._mail is None:
                content = parts_file.packed(facts, leaves)
                coming = {name(index - steps): between_processes.handed_on(content, steps) for steps in right}
            if self._mail is not None:
                self._mail.inbox.given_up = False
            self._thread = threading.Thread(
                target=self._write, args=(name(index), content, facts, leaves, targets, coming, token),
                name="rabbet-store-peers",
            )  # fmt: skip
            self._thread.start()
            if wait:
                self._finish()

    def _meet(self):
        """Find out who the others are, and agree on what the names of files begin with: once for the same
        processes.
        """
        now = rb.process_index(), rb.process_count(), mail.present()
        if self._met == now:
            return
        self._met, self._mail, self._right, self._count = now, None, [], 0
        self._first = int(agreed((time.time_ns() >> 16).to_bytes(6, "big")), 16)
        if not self.copies or rb.process_count() == 1:
            return
        self._right = between_processes.distances(socket.gethostname())[: self.copies]
        if mail.present() is not None:
            found = mail.Mail(self.folder, NAME)
            if found.gets_through([(rb.process_index() + n) % rb.process_count() for n in self._right]):
                self._mail = found

    def _token(self):
        """What tells this writing of a step from others, alike at all processes: later ones sort behind."""
        self._count += 1
        return f"{self._first + self._count:012x}"

    def _write(self, name, content, facts, leaves, targets, coming, token):
        try:
            content = parts_file.packed(facts, leaves) if content is None else content
            try:
                self.folder.mkdir(parents=True, exist_ok=True)
                parts_file.write(self.folder / name, content)
                for other, came in coming.items():
                    if came is not None:
                        parts_file.write(self.folder / other, came)
            except OSError:  # whoever cannot write here can have copies there, and the others wait for them
                if self._mail is not None:
                    with contextlib.suppress(CheckpointError):
                        self._mail.send_all(targets, name, content)
                raise
            if self._mail is not None:
                self._mail.send_all(targets, name, content)
                self._mail.inbox.wait(coming, LATE_SECONDS)
            self._remove_old(token)
        except BaseException as error:
            self._error = error

    def _remove_old(self, token):
        """Keep the newest ones, by when they were written: a step may be written again. Another process may
        remove some meanwhile.
        """
        newest: dict = {}
        for path, t, *_ in self._files():
            with contextlib.suppress(OSError):
                written = path.stat().st_mtime_ns
                newest.setdefault(t, []).append((written, path))
        for left in self.folder.glob("step*.part"):  # by a process that was killed
            with contextlib.suppress(OSError):
                if time.time() - left.stat().st_mtime > LEFT_SECONDS:
                    left.unlink()
        ordered = sorted(newest, key=lambda t: (t == token, max(newest[t])), reverse=True)
        for old in ordered[self.keep :]:
            for _, path in newest[old]:
                path.unlink(missing_ok=True)

    @folded
    def wait(self) -> None:
        """Wait until this process has written what was saved, its copies are where they belong, and it has
        those of others, or some seconds have passed without them.

        Raises:
          CheckpointError: if it could not write or send.
        """
        with self._lock:
            self._finish()

    def _finish(self, *, reading=False):
        """The same; for reading what is there, without waiting for what others send, and with a warning where
        copies did not get where they belong.
        """
        thread, self._thread = self._thread, None
        if thread is not None:
            if reading and self._mail is not None:
                self._mail.inbox.give_up()
            thread.join()
        error, self._error = self._error, None
        if error is not None and reading and isinstance(error, CheckpointError):
            warnings.warn(f"copies of what was saved last are not where they belong: {error}", stacklevel=5)
        elif error is not None:
            raise CheckpointError(f"parts in {self.folder} could not be written: {error}") from error

    # ------------------------------------------------------------------------------------------- reading
    def _files(self):
        """What is in the folder: path, token, step, the process whose parts they are, of how many."""
        try:
            names = sorted(os.listdir(self.folder))
        except OSError:
            return []
        found = [(name, NAME.fullmatch(name)) for name in names]
        return [(self.folder / n, m[2], int(m[1]), int(m[3]), int(m[4])) for n, m in found if m]

    def _settle(self):
        """All processes have written and sent what they saved."""
        self._finish(reading=True)
        between_processes.gathered(None)

    def _holders(self, checked):
        """For each state that is whole its step, its token, and at which process the parts of each are; the
        last one first. ``checked`` has of tokens whose files were read those that are not damaged, by owner.
        """
        mine = [each for each in self._files() if each[3] in checked.get(each[1], (each[3],))]
        tables = between_processes.gathered([each[1:] for each in mine])
        by_token: dict = {}
        for process, rows in enumerate(tables):
            for token, step, owner, count in rows:
                by_token.setdefault((step, token, count), {}).setdefault(owner, process)
        whole = [(*key[:2], held) for key, held in by_token.items() if len(held) == key[2]]
        return sorted(whole, key=lambda each: each[:2], reverse=True)

    def _undamaged(self, token):
        """The parts in this folder that are as they were written, by the process whose they are; this one's
        own first: of what each process has, such as an array of NumPy's, it reads its own.
        """
        found, me = {}, rb.process_index()
        for path, t, _, owner, _ in sorted(self._files(), key=lambda each: (each[3] != me, each[3])):
            if t == token:
                with contextlib.suppress(OSError, CheckpointError, ValueError):
                    parts = parts_file.Parts(path)
                    if parts.whole():
                        found[owner] = parts
        return found

    @folded
    def steps(self) -> list[int]:
        """The steps of which the parts of all processes are there, in order. All processes call it."""
        with self._lock:
            self._settle()
            return sorted({step for step, _, _ in self._holders({})})

    @folded
    def latest(self) -> int | None:
        """The last of them, or None. All processes call it."""
        return max(self.steps(), default=None)

    @folded
    def load(
        self, step: int | None = None, *, like: Any = None, shardings: Any = None, partial: bool = False,
        plain: bool = False,
    ) -> Any:  # fmt: skip
        """Read a state. What a process needs and does not have comes from others; the mesh and the number of
        processes may be other ones than those that wrote it. Where copies of what was saved last could not be
        sent, a warning says so.

        Args:
          step: its number; None: the latest of which all parts are there, undamaged.
          like, shardings, partial, plain: as for ``Checkpoints.load``.

        Raises:
          CheckpointError: where no step is whole, and as of ``Checkpoints.load``.
        """
        check_load(like, partial, plain)
        step = None if step is None else number(step, "step")
        with self._lock:
            self._settle()
            return self._newest(step, like, shardings, partial, plain)

    def _newest(self, step, like, shardings, partial, plain):
        checked: dict = {}
        while True:
            found = [each for each in self._holders(checked) if step in (None, each[0])]
            if not found:
                what = "no step" if step is None else f"step {step} not"
                raise CheckpointError(f"of {what} are all parts there, near the processes ({self.folder})")
            at, token, holders = found[0]
            if token in checked:
                return self._load(at, checked[token], holders, like, shardings, partial, plain)
            checked[token] = self._undamaged(token)  # they are read now, and what is damaged left out

    def _load(self, step, mine, holders, like, shardings, partial, plain):
        me, held = rb.process_index(), list(mine.values())

        def sent(owner):
            content = mine[owner].content if holders[owner] == me else None
            return parts_file.Parts(between_processes.from_one(content, holders[owner]))

        if len(holders) == rb.process_count():  # who has lost what it wrote itself reads that first
            for owner, has in enumerate(between_processes.gathered(me in mine)):
                parts = None if has else sent(owner)
                if parts is not None and owner == me:
                    held.insert(0, parts)
        body = held[0].table if held else None
        if not all(between_processes.gathered(bool(held))):  # who has nothing needs the table of contents
            table = mine[0].content_of_table() if holders[0] == me else None
            body = json.loads(between_processes.from_one(table, holders[0]).tobytes())
        readers = Readers(body["leaves"], held)
        state = State(step, body, readers, like, shardings, partial, plain)
        for owner in self._wanted(readers, holders, mine):
            held.append(sent(owner))
        return state.finish()

    def _wanted(self, readers, holders, mine):
        """Of which processes somebody needs the parts."""
        lacking = between_processes.gathered([[r.number, e] for r in readers.made for e in r.missing()])
        if not any(lacking):
            return []
        me, tables = rb.process_index(), {}
        for owner, process in holders.items():
            if process == me:
                tables[owner] = [[n, e] for n, e, *_ in mine[owner].table["parts"]]
        everyone = {int(o): rows for each in between_processes.gathered(tables) for o, rows in each.items()}
        wanted, seen = set(), set()
        needs = [need for each in lacking for need in each]
        for owner in sorted(everyone):
            for n, have in everyone[owner]:
                key = (n, *map(tuple, have))
                meets = any(
                    n == m and all(max(a, c) < min(b, d) for (a, b), (c, d) in zip(have, ends, strict=True))
                    for m, ends in needs
                )
                if meets and key not in seen:
                    seen.add(key)
                    wanted.add(owner)
        return sorted(wanted)


class Readers:
    """Gives ``Loading`` a reader for each row, and knows those that it made."""

    def __init__(self, rows, held):
        self.numbers = {id(row): i for i, row in enumerate(rows)}
        self.held, self.made = held, []

    def reader(self, row):
        """The reader of a row."""
        self.made.append(parts_file.PartReader(row, self.numbers[id(row)], self.held))
        return self.made[-1]


__all__ = ["PeerCheckpoints"]
