"""Files sent to other processes while these do something else: over connections of their own, not over the
devices, so that the program goes on.

Each process listens on the address by which the others of its group reach it. What is sent is checked with a
code that only the processes of the run can make, and written under its name once it is whole; then the
sender is told.
"""

import contextlib
import hashlib
import hmac
import re
import secrets
import socket
import threading
import weakref

import numpy as np
from rabbet_distributed.api import initialized_group, is_initialized

from rabbet_store import between_processes, parts_file
from rabbet_store.errors import CheckpointError
from rabbet_store.writing import agreed

TALK_SECONDS = 20  # without a byte of the other one
PIECE = 8 << 20
HEAD = re.compile(rb"(\S+) (\d+) ([0-9a-f]{32}) ([0-9a-f]{64})\n")
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
        weakref.finalize(self, self.listener.close)
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

    def send(self, target, name, content):
        """Have a process write a file.

        Raises:
          CheckpointError: it does not answer, or could not.
        """
        nonce = secrets.token_hex(16)
        head = f"{name} {content.size} {nonce} {code(self.secret, nonce, name, content)}\n"
        try:
            with socket.create_connection(self.addresses[target], TALK_SECONDS) as way:
                way.sendall(head.encode())
                for start in range(0, content.size, PIECE):
                    way.sendall(content[start : start + PIECE].data)
                answer = b""
                while not answer.endswith(b"\n") and (more := way.recv(4096)):
                    answer += more
        except OSError as error:
            raise CheckpointError(f"process {target} does not take copies: {error}") from error
        if answer != DONE:
            said = answer.decode(errors="replace").strip() or "it closed the connection"
            raise CheckpointError(f"process {target} could not write a copy: {said}")


class Inbox:
    """What comes, and who waits for it."""

    def __init__(self, folder, names, secret):
        self.folder, self.names, self.secret = folder, names, secret
        self.changed, self.here, self.given_up = threading.Condition(), set(), 0

    def arrived(self, name):
        """A file is there."""
        with self.changed:
            self.here.add(name)
            self.changed.notify_all()

    def wait(self, names, seconds):
        """Wait until files are there, so many seconds for each at most; they are forgotten then."""
        with self.changed:
            before = self.given_up
            for name in names:
                there = lambda name=name: name in self.here or before != self.given_up
                self.changed.wait_for(there, seconds)
                self.here.discard(name)

    def give_up(self):
        """Who waits now waits no longer."""
        with self.changed:
            self.given_up += 1
            self.changed.notify_all()


def serve(listener, inbox):
    """What the thread of a listener does."""
    while True:
        try:
            way, _ = listener.accept()
        except OSError:  # it was closed
            return
        threading.Thread(target=take, args=(way, inbox), daemon=True).start()


def take(way, inbox):
    """One file."""
    with way, contextlib.suppress(OSError):
        way.settimeout(TALK_SECONDS)
        file = way.makefile("rb")
        head = HEAD.fullmatch(file.readline(1024))
        if head is None:
            return
        name, size, nonce = head[1].decode(), int(head[2]), head[3].decode()
        if name != GREETING and not inbox.names.fullmatch(name):
            return
        try:
            content = np.empty(size, np.uint8)
            if file.readinto(content.data) != size:
                return
            if not hmac.compare_digest(code(inbox.secret, nonce, name, content), head[4].decode()):
                return
            if name != GREETING:
                inbox.folder.mkdir(parents=True, exist_ok=True)
                parts_file.write(inbox.folder / name, content)
                inbox.arrived(name)
            way.sendall(DONE)
        except (OSError, MemoryError) as error:
            way.sendall(f"{error}\n".encode())


def code(secret, nonce, name, content):
    """What proves that a file comes from a process of the run."""
    made = hmac.new(secret, b"rabbet copies\0", hashlib.sha256)
    made.update(f"{nonce} {name} {content.size}\n".encode())
    made.update(content.data)
    return made.hexdigest()


def present():
    """The name of the present group of processes that ``rb.distributed`` joined, or None."""
    return initialized_group().prefix if is_initialized() else None


__all__ = ["Mail", "present"]
