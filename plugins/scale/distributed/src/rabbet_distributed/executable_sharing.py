"""Programs that one process compiles for all: the executable goes down a tree, from each to two others.

The processes have agreed on the program (``agreement``), so what they compile is the same. The first one of
the group that runs it compiles; each other one asks the one above it, by a connection of their own, and hands
on what it got. An executable is machine code, so it is taken from processes of this job alone: both sides
know the job's secret, and without one each process compiles for itself. So it does where the other one's
machine is of another kind, which a warning names, and where the other one is lost or has it no more.
"""

import contextlib
import hashlib
import hmac
import json
import secrets
import socket
import struct
import threading
import time
import warnings
from collections import OrderedDict

from rabbet_distributed.peers import family_of
from rabbet_distributed.signed_messages import ForgedMessageWarning

KEPT = 32  # of the programs that can still be asked for
PIECE = 1 << 24
LONGEST_LINE = 4096
TALK_SECONDS = 10  # for a peer to say the next piece
TALK_TIME = struct.pack("ll", TALK_SECONDS, 0)
GONE, OTHER, HERE = "gone", "other", "here"


class Entry:
    """A program of this process: on its way, here, or not to be had (``make`` is None)."""

    def __init__(self):
        self.ready, self.key, self.make, self.blob, self.sum = False, None, None, None, None
        self.lock = threading.Lock()

    def content(self):
        """The executable as bytes, and its SHA-256: made once, however many ask."""
        with self.lock:
            if self.blob is None:
                self.blob = self.make()
            if self.sum is None:
                self.sum = hashlib.sha256(self.blob).hexdigest()
            return self.blob, self.sum


class Handing:
    """What this process hands on, and takes from others.

    Args:
      watch: the ``Watch`` of its group.
      host: the address of this machine by which the others reach it.
    """

    def __init__(self, watch, host):
        self.watch, self.host = watch, host
        self.secret = getattr(watch.group.store, "secret", None)
        self.changed = threading.Condition()
        self.entries = OrderedDict()
        self.listener, self.published = None, None

    def place(self, group):
        """The ranks of the processes that run a program, and the place of this one among them."""
        ranks = self.watch.ranks_of(group)
        return ranks, ranks.index(self.watch.group.rank)

    # ------------------------------------------------------------------------------------- those that give
    def expect(self, group, digest):
        """This process is about to have a program. Before the others can know of it."""
        ranks, place = self.place(group)
        if self.secret is None or 2 * place + 1 >= len(ranks):
            return
        with self.changed:
            self.entries[digest] = Entry()
            while len(self.entries) > KEPT:
                self.entries.popitem(last=False)
        ours = self.watch.group
        if self.listener is None:
            self.listener = socket.create_server((self.host, 0), family=family_of(self.host), backlog=16)
            threading.Thread(target=self.serve, name="rabbet-hand-on", daemon=True).start()
        if self.published != ours.prefix:
            address = json.dumps(list(self.listener.getsockname()[:2]))
            ours.store.set(f"{ours.prefix}/handing/{ours.rank}", address, replace=True)
            self.published = ours.prefix

    def hand_on(self, digest, key, make):
        """This process has a program, ``make()`` is its bytes; or it will not have it: None. What came from
        another process has been handed on since then.
        """
        with self.changed:
            entry = self.entries.get(digest)
            if entry is not None and not entry.ready:
                entry.ready, entry.key, entry.make = True, key, make
                self.changed.notify_all()

    def serve(self):
        """What the thread does."""
        while not self.watch.stopped.is_set():
            try:
                connection, _ = self.listener.accept()
            except OSError:  # it was closed
                return
            threading.Thread(target=self.answer, args=(connection,), daemon=True).start()

    def answer(self, connection):
        """One question: a line, and what is asked for."""
        with connection, contextlib.suppress(OSError, ValueError, KeyError, TypeError):
            connection.settimeout(TALK_SECONDS)
            asked = line_of(connection)
            nonce, digest, key = (str(asked[name]) for name in ("nonce", "digest", "key"))
            if not hmac.compare_digest(self.code("ask", nonce, digest, key), str(asked["code"])):
                return
            entry = self.awaited(digest)
            blob, total, status = b"", "", GONE
            if entry is not None and (entry.make or entry.sum):
                status = HERE if entry.key == key else OTHER
                blob, total = entry.content() if status == HERE else (b"", "")
            said = {"status": status, "size": len(blob), "sha256": total}
            said["code"] = self.code(status, nonce, digest, key, str(len(blob)), total)
            connection.sendall(json.dumps(said).encode() + b"\n")
            blocking(connection)
            for start in range(0, len(blob), PIECE):
                connection.sendall(memoryview(blob)[start : start + PIECE])

    def awaited(self, digest):
        """The entry of a program, once it is ready; None where it is not to be had."""
        with self.changed:
            entry = self.entries.get(digest)
            while entry is not None and not entry.ready:
                if self.watch.stopped.is_set() or self.watch.failure is not None:
                    return None
                self.changed.wait(self.watch.interval)
            return entry

    def code(self, *parts):
        """The code of a message, of texts and bytes."""
        made = hmac.new(self.secret, b"rabbet handing\0", hashlib.sha256)
        for part in parts:
            data = part if isinstance(part, bytes) else part.encode()
            made.update(len(data).to_bytes(8, "little"))
            made.update(data)
        return made.hexdigest()

    def close(self):
        """Nobody is answered any more."""
        if self.listener is not None:
            with contextlib.suppress(OSError):
                self.listener.shutdown(socket.SHUT_RDWR)
            self.listener.close()

    def pass_on(self, digest, key, blob, total):
        """What another process sent goes on at once, before this one has loaded it."""
        with self.changed:
            entry = self.entries.get(digest)
            if entry is not None:
                entry.ready, entry.key, entry.blob, entry.sum = True, key, blob, total
                self.changed.notify_all()

    # ------------------------------------------------------------------------------------- those that take
    def fetch(self, group, name, digest, key):
        """The bytes of an executable that the process above this one has compiled, or None: this one is to.

        Raises:
          PeerLost: where something has failed meanwhile.
        """
        ranks, place = self.place(group)
        if self.secret is None or place == 0:
            return None
        above, ours = ranks[(place - 1) // 2], self.watch.group
        told = ours.store.get(f"{ours.prefix}/handing/{above}")
        if told is None:
            return None
        try:
            with socket.create_connection(tuple(json.loads(told)), timeout=TALK_SECONDS) as connection:
                return self.taken(connection, name, above, digest, key)
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def taken(self, connection, name, above, digest, key):
        """What the process above answers."""
        nonce = secrets.token_hex(16)
        asked = {"nonce": nonce, "digest": digest, "key": key}
        asked["code"] = self.code("ask", nonce, digest, key)
        connection.sendall(json.dumps(asked).encode() + b"\n")
        started, first = time.monotonic(), b""
        connection.settimeout(self.watch.interval)
        while not first:
            try:
                first = connection.recv(1, socket.MSG_PEEK)
            except TimeoutError:
                self.watch.raise_failure()
                if self.watch.lost([above]) or time.monotonic() - started > self.watch.group.seconds.step:
                    return None
                continue
            if not first:
                return None
        connection.settimeout(TALK_SECONDS)
        said = line_of(connection)
        status, total, size = str(said["status"]), str(said["sha256"]), int(said["size"])
        code, blob = self.code(status, nonce, digest, key, str(size), total), b""
        right = hmac.compare_digest(code, str(said["code"]))
        if right and status == HERE:
            blob = received(connection, size)
            right = hashlib.sha256(blob).hexdigest() == total
        if not right:
            warnings.warn(
                f"what was to be the program {name} of process {above} is not signed by a process of this "
                "job and is ignored; it is compiled here",
                ForgedMessageWarning,
                stacklevel=2,
            )
            return None
        if status == OTHER:
            warnings.warn(
                f"process {self.watch.group.rank} compiles {name} for itself: process {above} has a machine "
                "of another kind (its processor, its devices or their driver)",
                stacklevel=2,
            )
        if status != HERE:
            return None
        self.pass_on(digest, key, blob, total)
        return blob


def blocking(connection):
    """Have each call wait until a whole piece is sent or here. Waiting for some of it, as Python does where a
    socket has a time-out, takes hundreds of calls for a megabyte.
    """
    connection.settimeout(None)
    for option in (socket.SO_RCVTIMEO, socket.SO_SNDTIMEO):
        connection.setsockopt(socket.SOL_SOCKET, option, TALK_TIME)


def received(connection, size):
    """So many bytes."""
    pieces, missing = [], size
    blocking(connection)
    while missing:
        pieces.append(connection.recv(min(PIECE, missing), socket.MSG_WAITALL))
        if not pieces[-1]:
            raise OSError("the connection ended")
        missing -= len(pieces[-1])
    return pieces[0] if len(pieces) == 1 else b"".join(pieces)


def line_of(connection):
    """A line of JSON; what comes behind it stays to be read."""
    data = b""
    while not data.endswith(b"\n"):
        if len(data) > LONGEST_LINE:
            raise ValueError("a line that is too long")
        there, newline, _ = connection.recv(LONGEST_LINE, socket.MSG_PEEK).partition(b"\n")
        if not there and not newline:
            raise OSError("the connection ended")
        data += connection.recv(len(there) + len(newline))
    return json.loads(data)


__all__ = ["Handing"]
