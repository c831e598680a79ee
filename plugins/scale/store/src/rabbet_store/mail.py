"""Files sent to other processes while these do something else: over connections of their own, not over the
devices, so that the program goes on.

Each process listens on the address by which the others of its group reach it, and begins with a number of
its own. What is sent is checked with codes that only the processes of the run can make: its head, which goes
with that number, before there is memory for the rest, then the rest. It is written under its name once it is
whole; then the sender is told.
"""

import contextlib
import hashlib
import hmac
import re
import secrets
import socket
import threading
import time
import weakref

import numpy as np
from rabbet_distributed.api import initialized_group, is_initialized

from rabbet_store import between_processes, parts_file
from rabbet_store.errors import CheckpointError
from rabbet_store.writing import agreed

TALK_SECONDS = 20  # without a byte of the other one
SLOWEST = 50e6  # bytes in a second that a process checks and writes at least
PIECE = 8 << 20
HEAD = re.compile(rb"(([!-~]+) (\d+) ([0-9a-f]{64})) ([0-9a-f]{64})\n")
DONE, GREETING = b"written\n", "-"  # a file of this name is none: only whether one gets through


class Mail:
    """The way from this process to the others of its group.

    Args:
      folder: where what comes is written.
      names: a pattern of names that are taken.
    """

    def __init__(self, folder, names):
        self.secret = bytes.fromhex(agreed(secrets.token_bytes(32)))
        self.inbox = Inbox(folder, names, self.secret)
        host = initialized_group().host
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self.listener = socket.create_server((host, 0), family=family, backlog=16)
        weakref.finalize(self, close, self.listener)
        threading.Thread(
            target=serve, args=(self.listener, self.inbox), name="rabbet-store-mail", daemon=True
        ).start()
        said = between_processes.gathered([socket.gethostname(), *self.listener.getsockname()[:2]])
        self.addresses = [(host, port) for _, host, port in said]
        self.machines = [machine for machine, *_ in said]

    def gets_through(self, targets):
        """Whether each process reaches those to which it will send. All processes call it."""
        try:
            for target in targets:
                self.send(target, GREETING, np.empty(0, np.uint8))
            reached = True
        except CheckpointError:
            reached = False
        return all(between_processes.gathered(reached))

    def send_all(self, targets, name, content):
        """Have each of some processes write a file, also where one before could not.

        Raises:
          CheckpointError: the first that ``send`` raises.
        """
        failed = []
        for target in targets:
            try:
                self.send(target, name, content)
            except CheckpointError as error:
                failed.append(error)
        if failed:
            raise failed[0]

    def send(self, target, name, content):
        """Have a process write a file.

        Raises:
          CheckpointError: it does not answer, or could not.
        """
        said = f"{name} {content.size} {code(self.secret, content.data)}".encode()
        try:
            way = socket.create_connection(self.addresses[target], TALK_SECONDS)
        except OSError as error:
            raise CheckpointError(f"process {target} does not take copies: {error}") from error
        try:
            with way:
                nonce = line_of(way)
                way.sendall(said + b" " + code(self.secret, nonce + said).encode() + b"\n")
                for start in range(0, content.size, PIECE):
                    way.sendall(content[start : start + PIECE].data)
                way.settimeout(TALK_SECONDS + content.size / SLOWEST)
                answer = line_of(way)
        except OSError as error:  # it was reset, for example, as what is refused is not read to its end
            raise CheckpointError(f"process {target} could not write a copy: {error}") from error
        if answer != DONE:
            said = answer.decode(errors="replace").strip() or "it closed the connection"
            raise CheckpointError(f"process {target} could not write a copy: {said}")


class Inbox:
    """What comes, and who waits for it."""

    def __init__(self, folder, names, secret):
        self.folder, self.names, self.secret = folder, names, secret
        self.changed, self.here, self.given_up = threading.Condition(), set(), False

    def came(self, name):
        """A file is there, or could not be written: in both cases it is not waited for any longer."""
        with self.changed:
            self.here.add(name)
            self.changed.notify_all()

    def wait(self, names, seconds):
        """Wait until files are there, so many seconds for each at most; they are forgotten then."""
        with self.changed:
            for name in names:
                there = lambda name=name: name in self.here or self.given_up
                self.changed.wait_for(there, seconds)
                self.here.discard(name)

    def give_up(self):
        """Nobody waits any longer, until ``given_up`` is False again."""
        with self.changed:
            self.given_up = True
            self.changed.notify_all()


def serve(listener, inbox):
    """What the thread of a listener does."""
    while True:
        try:
            way, _ = listener.accept()
        except OSError:
            if listener.fileno() == -1:  # it was closed
                return
            time.sleep(0.1)  # as when there are too many open files
            continue
        threading.Thread(target=take, args=(way, inbox), daemon=True).start()


def take(way, inbox):
    """One file."""
    with way, contextlib.suppress(OSError):
        way.settimeout(TALK_SECONDS)
        file = way.makefile("rb")
        nonce = secrets.token_hex(16).encode() + b"\n"
        way.sendall(nonce)
        head = HEAD.fullmatch(file.readline(1024))
        if head is None or not hmac.compare_digest(code(inbox.secret, nonce + head[1]).encode(), head[5]):
            return
        name, size = head[2].decode(), int(head[3])
        if name != GREETING and not inbox.names.fullmatch(name):
            return
        try:
            content = np.empty(size, np.uint8)
            if file.readinto(content.data) != size:
                return
            if not hmac.compare_digest(code(inbox.secret, content.data).encode(), head[4]):
                return
            if name != GREETING:
                try:
                    inbox.folder.mkdir(parents=True, exist_ok=True)
                    parts_file.write(inbox.folder / name, content)
                finally:
                    inbox.came(name)
            way.sendall(DONE)
        except (OSError, MemoryError) as error:
            way.sendall(f"{error}\n".encode())


def line_of(way):
    """What the other one says, up to the end of a line or of the connection."""
    said = b""
    while not said.endswith(b"\n") and (more := way.recv(4096)):
        said += more
    return said


def close(listener):
    """End what ``serve`` waits for: closing alone does not."""
    with contextlib.suppress(OSError):
        listener.shutdown(socket.SHUT_RDWR)
    listener.close()


def code(secret, said):
    """What proves that bytes come from a process of the run."""
    made = hmac.new(secret, b"rabbet copies\0", hashlib.sha256)
    made.update(said)
    return made.hexdigest()


def present():
    """The name of the present group of processes that ``rb.distributed`` joined, or None."""
    return initialized_group().prefix if is_initialized() else None


__all__ = ["Mail", "present"]
