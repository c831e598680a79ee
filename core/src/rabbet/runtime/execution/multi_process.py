"""Programs over the devices of several processes.

Where one of the processes is missing, what the runtime below does is to wait, or to end the process. So
somebody has to oversee such programs: a package that knows the other processes, which gives an ``Overseer``.
Before a program is compiled all have to agree on it; a program that communicates runs on a thread of its own
while the overseer looks after the others, and is waited for.
"""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from typing import Any

from rabbet.errors import PeerLost, ShardingError
from rabbet.runtime.execution import interruptible
from rabbet.runtime.jaxlib import adapter

COMMUNICATES = re.compile(
    r" (?:all-reduce|all-gather|reduce-scatter|all-to-all|ragged-all-to-all|collective-permute|"
    r"collective-broadcast|send|recv)(?:-start)?\("
)
# Two looks are never so many seconds apart, unless this process itself was stopped meanwhile.
MOST_BETWEEN_LOOKS = 5.0
STUCK = (
    "the program is still running, on a thread of its own, because it cannot be stopped while it waits for "
    "the other processes; it ends with its time-out"
)


class Overseer:
    """Who looks after programs over several processes.

    Attributes:
      every: seconds between two calls of ``look`` while a program is under way.
      compiler_options: options of XLA for all programs over several processes, by name.

    Example:
      >>> from rabbet.extend.processes import Overseer
      >>> class Patient(Overseer):
      ...     def look(self, group, name, seconds):
      ...         if seconds > 60:
      ...             raise TimeoutError(f"{name} has run for a minute")
      >>> Patient().every
      0.1
    """

    every = 0.1
    compiler_options: Mapping[str, Any] = {}

    def agree(self, group: Any, name: Any, digest: Any, text: str) -> None:
        """Return when all processes of a ``DeviceGroup`` are about to compile the program of this digest.
        ``name`` is for messages: its name, its line, its types; so is ``text``, with the lines of its
        operations. Raises what is wrong otherwise.
        """

    def fetch(self, group: Any, name: str, digest: str, key: str) -> bytes | None:
        """The bytes of what another process of a ``DeviceGroup`` has compiled of the program on which all
        agreed; None: this process is to compile it. ``key`` is equal where the machines are of one kind.
        """
        return None

    def hand_on(self, group: Any, digest: str, key: str, make: Any) -> None:
        """This process has the program on which all agreed: ``make()`` returns its bytes; or it will not have
        it, or cannot give it to others: None.
        """

    def started(self, group: Any, name: str, mark: int) -> None:
        """A program that communicates is about to run; ``mark`` is a number that equal programs share. Raises
        why it must not.
        """

    def look(self, group: Any, name: Any, seconds: Any) -> None:
        """A program has been under way for so many seconds; those in which this process itself was stopped do
        not count. Raises why nobody should wait any longer.
        """

    def give_up(self, group: Any, name: Any) -> None:
        """Nobody waits for a program any more, which is under way. Ends its communication, if that can be
        done: a thread that is left behind in it ends the process when Python ends.
        """

    def finished(self, group: Any, name: str, error: Any) -> Any:
        """A program has ended, with an error of the runtime or None. Returns what to raise, or None."""
        return error


_overseer: Overseer | None = None


def set_overseer(overseer: Any) -> None:
    """Name who looks after programs over several processes: an ``Overseer``, or None.

    Example:
      >>> from rabbet.extend.processes import set_overseer
      >>> set_overseer(None)
    """
    global _overseer
    _overseer = overseer


def current(name: str, group: Any) -> Overseer:
    """The overseer, for a program over a ``DeviceGroup``."""
    if not group.local_devices:
        raise ShardingError(
            f"{name!r} runs on {group}, and none of these devices belongs to this process: only processes "
            "that own some of a program's devices may call it\n"
            "  to fix: make the mesh of devices of all processes"
        )
    if _overseer is None:
        raise PeerLost(
            f"{name!r} runs on {group}, devices of several processes, and the connection to the others was "
            "given up\n  to fix: call rabbet.distributed.initialize before it"
        )
    return _overseer


class Agreed:
    """A program on which the processes of a group agree: ``text`` says what they are, too.

    While it is entered, one process compiles for all: ``fetch`` is what it made, ``hand_on`` tells others.
    """

    def __init__(
        self, name: str, text: str, options: Any, group: Any, about: str, located: str = ""
    ) -> None:
        self.name, self.group = name, group
        import hashlib  # where there are several processes

        self.digest = hashlib.sha256(text.encode() + options).hexdigest()
        current(name, group).agree(group, about, self.digest, located or text)
        self.text, self.told = with_owners(text, group), False
        self.blob: bytes | None = None

    def __enter__(self) -> Agreed:
        return self

    def __exit__(self, *error: Any) -> None:
        if not self.told:
            self.hand_on("", None)

    def fetch(self, key: str) -> bytes | None:
        """See ``Overseer.fetch``."""
        self.blob = current(self.name, self.group).fetch(self.group, repr(self.name), self.digest, key)
        return self.blob

    def hand_on(self, key: str, make: Any) -> None:
        """See ``Overseer.hand_on``."""
        self.told = True
        if _overseer is not None:
            _overseer.hand_on(self.group, self.digest, key, make)


def with_owners(text: str, group: Any) -> str:
    """The text of a program, with what the processes of a group are."""
    owners = [d.process_index for d in group.devices]
    order = {owner: i for i, owner in enumerate(dict.fromkeys(owners))}
    return f"{text}\n// processes {[order[owner] for owner in owners]}"


def options(group: Any) -> Any:
    """Compiler options of a program over a ``DeviceGroup``."""
    return {} if group.is_local or _overseer is None else _overseer.compiler_options


def communicates(executable: Any) -> bool:
    """Whether the parts of a program, an ``Executable``, wait for each other."""
    return COMMUNICATES.search(adapter.hlo_text(executable.exe)) is not None


class Finished:
    """The results of a program that has ended, which nobody need wait for."""

    def __init__(self, results: Any) -> None:
        self.consume_with_handlers = results.consume_with_handlers

    def consume_token(self) -> Any:
        """Something to wait for."""
        return self

    def block_until_ready(self) -> None:
        """There is nothing to wait for."""


def overseen(execute: Any, executable: Any) -> Any:
    """``execute`` for a program of an ``Executable``, overseen if it communicates with other processes."""
    group, name = executable.device, executable.lowering.name
    if group.is_local or not communicates(executable):
        return execute
    import contextlib  # where there are several processes
    import zlib

    from rabbet.runtime.jaxlib import greetings

    mark = zlib.crc32(executable.lowering.module.key_text.encode())
    connected = group.platform != "cpu"  # the first run connects the processes, and Gloo says so

    def run(raws: list[Any], **options: Any) -> Finished:
        overseer = current(name, group)
        overseer.started(group, name, mark)
        waited, looked = 0.0, time.monotonic()

        def to_the_end() -> Any:
            nonlocal connected
            with contextlib.nullcontext() if connected else greetings.left_out():
                results = execute(raws, with_tokens=True)
                results.consume_token().block_until_ready()
            connected = True
            return results

        def look() -> None:
            nonlocal waited, looked
            now = time.monotonic()
            waited, looked = waited + min(now - looked, MOST_BETWEEN_LOOKS), now
            overseer.look(group, name, waited)

        failure = None
        try:
            results = interruptible.watched(
                to_the_end, look, overseer.every, lambda: overseer.give_up(group, name), STUCK
            )
        except adapter.XlaRuntimeError as error:
            failure = error
        failure = overseer.finished(group, name, failure)
        if failure is not None:
            raise failure
        return Finished(results)

    return run


__all__ = ["Agreed", "Overseer", "communicates", "overseen", "set_overseer"]
