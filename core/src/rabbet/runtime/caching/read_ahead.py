"""The programs that a script used when it last ran, loaded in a thread while it starts.

Loading a compiled program from disk takes jaxlib as long as tracing it takes Python, and needs no Python
meanwhile. So the names of a script's programs are kept beside the persistent cache, and with the client of a
platform a thread begins to load them. A name is a hash of the whole program (`cache.key`): what the script
does not ask for is never run, and is dropped after a while. Where there is nothing to read, nothing happens.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import re
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rabbet.config import config
from rabbet.messages.signal_errors import suppressed
from rabbet.runtime.caching import disk_cache
from rabbet.runtime.caching.atomic_files import write_whole
from rabbet.runtime.jaxlib import adapter, interpreter_exit

if TYPE_CHECKING:
    from rabbet.runtime.platforms.clients import Client

FOLDER = "scripts"  # beside the folder of programs
MOST = 64  # programs a script: its largest ones
MOST_BYTES = 2**28  # on disk
MOST_NOTED = 4096
# Who starts up for longer than this has other things to wait for.
KEEP_SECONDS = 60.0
NAME = re.compile(r"(\S{1,40}) ([0-9a-f]{64})")


class ListedProgram:
    """One that is being loaded for a client, or was: `exe` is None where it could not be."""

    __slots__ = ("begun", "client", "done", "exe")

    def __init__(self, client: Any) -> None:
        self.client, self.begun, self.done, self.exe = client, False, threading.Event(), None


class ReadAhead:
    """What this run of a script uses, and what is loaded because its last run did.

    Args:
      programs: the `ProgramCache`.
      list_file: where the names stand, a line each: platform and key.
    """

    def __init__(self, programs: Any, list_file: Any) -> None:
        self.programs, self.list_file = programs, list_file
        self._process = os.getpid()
        self._lock = threading.Lock()
        self._ahead = {}  # by key
        self._used = {}  # (platform, key): None, in the order of their first use
        self._last = self._read_list()

    def start(self, client: Any) -> None:
        """Begin to load the programs of `client`'s platform in a thread."""
        keys = [key for platform, key in self._last if platform == client.platform]
        if not keys:
            return
        thread = threading.Thread(
            target=self._load_all, args=(client, keys), name="rabbet-read-ahead", daemon=True
        )
        self._ahead |= {key: ListedProgram(client) for key in keys}
        try:
            thread.start()
        except RuntimeError:  # the interpreter exits, or the system has no more threads
            self._ahead.clear()

    def take(self, key: str, client: Any) -> Any:
        """The executable loaded for `key` and `client`, waiting for it if it is under way; None if the caller
        must load it.
        """
        with self._lock:
            program = self._ahead.get(key)
            if program is None or program.client is not client:
                return None
            del self._ahead[key]
            if not program.begun:
                return None
        program.done.wait()
        if program.exe is not None:
            self.programs.found(key)
        return program.exe

    def note(self, platform: Any, key: str) -> None:
        """Remember that this run used a program."""
        if len(self._used) < MOST_NOTED:
            self._used[platform, key] = None

    def _load_all(self, client: Any, keys: list[str]) -> None:
        for key in keys:
            interpreter_exit.check()
            with contextlib.suppress(Exception):  # then the script loads it by itself, and tells
                self._load(client, key)
        # No thread of ours may wait here: the end of the interpreter would wait for it (`interpreter_exit`).
        later = threading.Timer(KEEP_SECONDS, self.forget)
        later.daemon = True
        later.start()

    def forget(self) -> None:
        """Drop what nobody asked for; nothing is given any more."""
        with self._lock:
            self._ahead.clear()

    def _load(self, client: Any, key: str) -> None:
        with self._lock:
            program = self._ahead.get(key)
            if program is None:
                return  # the script was quicker
            program.begun = True
        try:
            blob = self.programs.peek(key)
            if blob is not None:
                program.exe = adapter.deserialize(client.raw, blob, client.devices[0].device_list)
        finally:
            program.done.set()

    # The list ----------------------------------------------------------------------------------------

    def _read_list(self) -> Any:
        with suppressed(OSError, UnicodeDecodeError):
            content, problem = disk_cache.read_if_ours(self.list_file)
            if problem is None:
                found = [NAME.fullmatch(line) for line in content.decode("ascii").splitlines()[:MOST]]
                return [match.groups() for match in found if match]
        return []

    def write_list(self) -> None:
        """Keep the names for the next run, if they are others than those of the last."""
        names = self._largest()
        if not names or names == self._last or os.getpid() != self._process:
            return
        with suppressed(OSError):
            self.list_file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            write_whole(self.list_file, "".join(f"{platform} {key}\n" for platform, key in names).encode())

    def _largest(self) -> list[tuple[str, ...]]:
        """The names that are worth loading, in the order of their use."""
        sizes = {name: self.programs.size(name[1]) for name in self._used}
        chosen, room = set(), MOST_BYTES
        for name in sorted(filter(sizes.get, sizes), key=sizes.__getitem__, reverse=True)[:MOST]:
            if sizes[name] <= room:
                room -= sizes[name]
                chosen.add(name)
        return [name for name in sizes if name in chosen]


def script_name() -> Any:
    """The file that this process was started with, or None: interactive, or a child of another process."""
    process = sys.modules.get("multiprocessing.process")
    if process is not None and process.parent_process() is not None:
        return None
    name = sys.argv[0] if getattr(sys, "argv", None) else ""
    with suppressed(OSError, ValueError):
        if name and os.path.isfile(name):
            return os.path.realpath(name)
    return None


_running: list = []  # the `ReadAhead` of this process, or None


def start(client: Client) -> None:
    """Begin to load what the script used last, with the first client; its first device is meant."""
    if not client.devices[0].is_local:
        return
    if not _running:
        _running.append(_make())
    if _running[0] is not None:
        _running[0].start(client)


def _make() -> Any:
    programs = disk_cache.default_cache() if config.cache_read_ahead else None
    script = script_name()
    if programs is None or script is None:
        return None
    import hashlib  # a library of its own, for one digest

    digest = hashlib.sha256(f"{script}\n{adapter.version()}".encode(errors="replace")).hexdigest()
    made = ReadAhead(programs, Path(programs.folder).parent / FOLDER / digest[:32])
    atexit.register(made.write_list)
    return made


def take(key: str, client: Client) -> Any:
    """The executable under `key` if it was loaded ahead for `client`, else None."""
    running = _running[0] if _running else None
    return None if running is None else running.take(key, client)


def note(device: Any, key: str) -> None:
    """Remember for the next run that a program for `device` was used."""
    running = _running[0] if _running else None
    if running is not None and device is device.client.devices[0]:
        running.note(device.platform, key)


def forked() -> None:
    """In a child of this process, where the thread does not run: wait for nothing."""
    _running[:] = [None]
