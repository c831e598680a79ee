"""Compiled programs on disk, so that a second process need not compile what a first one has.

Entries are native code, so the folder must be ours alone: it is made with mode 0700, and a file that somebody
else owns or may write to is not used. In a folder that others may write to, entries are signed with a key of
this user's and bear a mark of it in their names: what others put there is never loaded. An entry is named by
a hash of everything that its code depends on (`key`), and starts with a checksum of that name and of its
contents: XLA does not notice a flipped byte in machine code, and files can come to bear each other's names.

Nothing here ever fails a computation. What cannot be read is a miss, what cannot be written is left out,
and a CacheWarning says so once. Many processes may share a folder: a file appears complete (`os.replace`)
or not at all, and entries that another process deletes meanwhile are misses.
"""

from __future__ import annotations

import os
import stat
import threading
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from rabbet.config import config
from rabbet.errors import CacheWarning
from rabbet.messages.signal_errors import raise_if_of_handler, suppressed
from rabbet.messages.source_positions import stacklevel
from rabbet.runtime.caching import user_key
from rabbet.runtime.caching.atomic_files import TEMPORARY, write_whole
from rabbet.runtime.caching.machine_fingerprint import host_fingerprint
from rabbet.runtime.jaxlib import adapter

FORMAT = b"rabbet-program-2\n"
DIGEST_SIZE = 32
SUFFIX, COUNTED = ".program", ".counted"
STALE_SECONDS = 3600  # a temporary file that is older was left by a process that died
COUNT_SECONDS = 3600  # the folder is counted at most this often ...
COUNT_SHARE = 1 / 64  # ... unless this process alone has written so much of the limit since
KEEP = 0.8  # how much of the size limit stays when the oldest entries are removed

# Level 1 makes entries a quarter to a half of their size, for less time than hashing and reading the rest
# takes.
COMPRESSION = 1


def _sha256(content: bytes) -> Any:
    import hashlib  # here, as zlib below: a library of its own, for programs that are kept

    return hashlib.sha256(content)


def key(text: str, option_bytes: bytes, device: Any) -> str:
    """Return the name under which the program `text` for `device` is kept.

    `text` is the module without locations (equal programs on different lines of a file are one program), and
    `option_bytes` comes from `adapter.option_bytes`; the flags of XLA_FLAGS are part of it.
    """
    digest = _sha256(FORMAT)
    parts = (
        adapter.version(),
        device.platform,
        device.device_kind,
        device.client.version,
        host_fingerprint(),
        text,
    )
    for part in (*(part.encode() for part in parts), option_bytes):
        digest.update(len(part).to_bytes(8, "little"))
        digest.update(part)
    return digest.hexdigest()


class Info(NamedTuple):
    """What a cache holds, and what this process found in it. `reason` says why it is off, if it is."""

    folder: Path
    entries: int
    bytes: int
    max_bytes: int
    hits: int
    misses: int
    reason: str | None = None


class ProgramCache:
    """Compiled programs in one folder, at most `max_bytes` of them, the least recently used removed first.

    Threads and processes may share it. Creating the object touches nothing; the folder is made at the first
    `put`.
    """

    def __init__(self, folder: Any, max_bytes: int) -> None:
        self.folder, self.max_bytes = Path(folder), max_bytes
        self.hits = self.misses = 0
        self._reason = None  # why the folder is not used at all
        self._unwritable = False
        self._key: bytes | None = None  # of this user, where the folder is shared
        self._warned = set()
        self._written = 0  # bytes, since the folder was counted
        self._lock = threading.Lock()

    def get(self, key: str) -> bytes | None:
        """Return the bytes kept under `key`, or None; marks them as just used."""
        blob = self._read(key)
        with self._lock:
            self.hits += blob is not None
            self.misses += blob is None
        return blob

    def peek(self, key: str) -> Any:
        """Return the bytes kept under `key`, or None, without counting it as used."""
        return self._read(key, used=False)

    def size(self, key: str) -> int:
        """How many bytes an entry takes on disk; 0 if there is none."""
        try:
            return os.stat(self._path(key), follow_symlinks=False).st_size
        except OSError as error:
            raise_if_of_handler(error)
            return 0

    def put(self, key: str, blob: bytes) -> bool:
        """Keep `blob` under `key`; return whether that worked. An entry larger than the limit is not kept."""
        body = compressed(blob)
        size = len(FORMAT) + DIGEST_SIZE + len(body)
        if self._unwritable or size > self.max_bytes or not self._usable(make=True):
            return False
        content = FORMAT + checksum(key, body, self._key) + body
        try:
            write_whole(self._path(key), content)
        except OSError as error:
            raise_if_of_handler(error)
            self._unwritable = True
            self._warn(
                "folder",
                f"the folder {self.folder} cannot be written to ({error.strerror or error}). "
                "Its entries are used; new programs are not kept.",
            )
            return False
        self._make_room(len(content))
        return True

    def discard(self, key: str, reason: str) -> None:
        """Remove an entry that turned out to be of no use, and warn; for blobs that the runtime refuses to
        load."""
        self._warn(key, f"entry {key[:12]} is of no use and was removed: {reason}")
        with suppressed(OSError):
            self._path(key).unlink()

    def info(self) -> Info:
        """Return an `Info`; reads the folder."""
        self._usable()
        files = self._files()
        return Info(
            self.folder,
            len(files),
            sum(size for _, size, _ in files),
            self.max_bytes,
            self.hits,
            self.misses,
            self._reason,
        )

    def clear(self) -> int:
        """Remove every entry; return how many there were."""
        if not self._usable():
            return 0
        removed = 0
        for path, _, _ in self._files():
            with suppressed(OSError):
                os.unlink(path)
                removed += 1
        return removed

    # The folder --------------------------------------------------------------------------------------

    def _path(self, key: str) -> Any:
        return self.folder / (key + self._ending())

    def _ending(self) -> str:
        """What the names of our entries end with."""
        return SUFFIX if self._key is None else f".{user_key.mark(self._key)}{SUFFIX}"

    def _usable(self, make: bool = False) -> Any:
        """Return whether the folder is there and ours alone, or one in which entries can be signed; make it
        if `make`."""
        if self._reason is not None:
            return False
        if self._key is not None and not make:
            return True
        try:
            if make:
                self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            status = os.lstat(self.folder)
        except FileNotFoundError as error:
            if make:
                self._stop(f"cannot be made ({error.strerror})")
            return False
        except OSError as error:
            raise_if_of_handler(error)
            self._stop(f"cannot be used ({error.strerror or error})")
            return False
        problem = not_ours(status, stat.S_ISDIR)
        if problem is None:
            return True
        if stat.S_ISDIR(status.st_mode) and self._key is None:
            self._key = user_key.user_key(not_ours)
        if self._key is None or not stat.S_ISDIR(status.st_mode):
            self._stop(
                f"is not used, because it {problem}; make it yours with mode 0700, or set RABBET_CACHE_DIR"
            )
        return self._reason is None

    def _stop(self, reason: Any) -> None:
        self._reason = reason
        self._warn(
            "folder", f"the folder {self.folder} {reason}. Programs are compiled anew in every process."
        )

    def _warn(self, about: str, message: str) -> None:
        """Warn about each thing once."""
        with self._lock:
            if about in self._warned:
                return
            self._warned.add(about)
        warnings.warn(f"compilation cache: {message}", CacheWarning, stacklevel=stacklevel())

    # Entries -----------------------------------------------------------------------------------------

    def _read(self, key: Any, used: Any = True) -> bytes | None:
        if not self._usable():
            return None
        try:
            content, problem = read_if_ours(self._path(key))
        except FileNotFoundError:
            return None
        except OSError as error:
            raise_if_of_handler(error)
            content, problem = None, f"cannot be read ({error.strerror or error})"
        if problem:
            self._warn(key, f"entry {key[:12]} is not used, because it {problem}")
            return None
        blob = unpack(key, content, self._key)
        if blob is None:
            self.discard(key, "it is damaged, or the file of another entry")
            return None
        if used:
            self._touch(key)
        return blob

    def found(self, key: str) -> None:
        """Count an entry as used that was read by `peek`."""
        with self._lock:
            self.hits += 1
        self._touch(key)

    def _touch(self, key: str) -> None:
        with suppressed(OSError):
            os.utime(self._path(key))  # used just now: the last to be removed

    def _files(self) -> list[tuple[str, int, int]]:
        """Return (path, size, time of last use) of every entry; removes what dead processes left behind.

        There may be tens of thousands, so paths stay texts.
        """
        found, now, ending = [], time.time(), self._ending()
        with suppressed(OSError), os.scandir(self.folder) as listing:
            for item in listing:
                try:
                    status = item.stat(follow_symlinks=False)
                    if item.name.endswith(ending):
                        found.append((item.path, status.st_size, status.st_mtime_ns))
                    elif item.name.startswith(TEMPORARY) and now - status.st_mtime > STALE_SECONDS:
                        os.unlink(item.path)
                except OSError as error:
                    raise_if_of_handler(error)
        return found

    def _make_room(self, written: int) -> None:
        """Remove the least recently used entries once the limit is passed.

        Counting reads the whole folder, so it is done seldom, and the limit can be passed by a little
        meanwhile.
        """
        with self._lock:
            self._written += written
            if self._written < self.max_bytes * COUNT_SHARE and self._counted_lately():
                return
            self._written = 0
            files = sorted(self._files(), key=lambda file: file[2])
            total = sum(size for _, size, _ in files)
            goal = self.max_bytes if total <= self.max_bytes else self.max_bytes * KEEP
            for path, size, _ in files:
                if total <= goal:
                    break
                with suppressed(OSError):
                    os.unlink(path)
                total -= size
            with suppressed(OSError):
                (self.folder / COUNTED).touch(mode=0o600)

    def _counted_lately(self) -> bool:
        """Return whether this or another process has counted the folder within the last hour."""
        try:
            return time.time() - os.stat(self.folder / COUNTED).st_mtime < COUNT_SECONDS
        except OSError as error:
            raise_if_of_handler(error)
            return False


def read_if_ours(path: Any) -> Any:
    """Return (content of the file, None), or (None, why it cannot be trusted). Follows no link."""
    # Without O_NONBLOCK a pipe in place of a file would be waited for, forever.
    flags = os.O_RDONLY
    for name in ("O_NOFOLLOW", "O_CLOEXEC", "O_NONBLOCK"):
        flags |= getattr(os, name, 0)
    handle = os.open(path, flags)
    try:
        problem = not_ours(os.fstat(handle), stat.S_ISREG)
        if problem:
            return None, problem
        with open(handle, "rb", closefd=False) as file:
            return file.read(), None
    finally:
        os.close(handle)


def not_ours(status: Any, is_kind: Any) -> str | None:
    """Return why a file or folder with this `os.stat_result` cannot be trusted, or None."""
    if not is_kind(status.st_mode):
        return "has the wrong type (a link, or another kind of file)"
    if hasattr(os, "geteuid") and status.st_uid != os.geteuid():
        return f"belongs to another user (uid {status.st_uid})"
    if status.st_mode & 0o022:
        return f"can be written to by others (mode {stat.S_IMODE(status.st_mode):04o})"
    return None


def pack(key: str, blob: bytes, owner: bytes | None = None) -> bytes:
    """Return the content of the file that keeps `blob` under `key`: format, checksum, compressed blob. With
    the key of an `owner` the checksum is a signature."""
    body = compressed(blob)
    return FORMAT + checksum(key, body, owner) + body


def compressed(blob: bytes) -> bytes:
    """Return what of a program stands in its file."""
    import zlib

    return zlib.compress(blob, COMPRESSION)


def unpack(key: str, content: Any, owner: bytes | None = None) -> Any:
    """Return the blob in the content of the file of `key`; None if it is not whole, or another's."""
    start = len(FORMAT) + DIGEST_SIZE
    body = content[start:]
    if not content.startswith(FORMAT) or content[len(FORMAT) : start] != checksum(key, body, owner):
        return None
    import zlib

    try:
        return zlib.decompress(body)
    except zlib.error:
        return None


def checksum(key: str, body: bytes, owner: bytes | None = None) -> bytes:
    """Return the checksum of an entry, which binds the contents to their name, and to their owner."""
    if owner is not None:
        return user_key.signature(owner, key, body)
    return _sha256(key.encode() + b"\n" + body).digest()


def default_folder() -> Any:
    """Return `config.cache_dir`, or 'rabbet' in the user's cache folder as the XDG specification has it."""
    if config.cache_dir is not None:
        return Path(config.cache_dir)
    return user_key.user_folder()


caches = {}


def default_cache() -> ProgramCache | None:
    """Return the cache that the settings ask for, or None if they switch it off (RABBET_CACHE=0).

    One object per folder and limit, so that its counts and warnings are those of the process.
    """
    if not config.cache:
        return None
    try:
        chosen = default_folder() / "programs", config.cache_max_bytes
    except RuntimeError:  # no home folder
        return None
    if chosen not in caches:
        caches.setdefault(chosen, ProgramCache(*chosen))
    return caches[chosen]


# For the runtime: the cache of the settings, or nothing ------------------------------------------------


def get(key: str) -> bytes | None:
    """Return the bytes kept under `key` in the default cache, or None."""
    cache = default_cache()
    return None if cache is None else cache.get(key)


def store(key: str, make_blob: Callable[..., Any], seconds: float) -> bool:
    """Keep `make_blob()` in the default cache, if compiling took long enough; a blob that cannot be made is
    left out."""
    cache = default_cache()
    if cache is None or seconds < config.cache_min_seconds:
        return False
    try:
        blob = make_blob()
    except (adapter.XlaRuntimeError, MemoryError):
        return False  # it has no serialized form: jaxlib says either, MemoryError of calls of oneDNN
    return len(blob) >= config.cache_min_bytes and cache.put(key, blob)


def reject(key: str, reason: str) -> None:
    """Remove an entry of the default cache that the runtime refused to load."""
    cache = default_cache()
    if cache is not None:
        cache.discard(key, reason)


def info() -> Any:
    """Return the `Info` of the default cache, or None if it is switched off."""
    cache = default_cache()
    return None if cache is None else cache.info()


def clear() -> int:
    """Remove every entry of the default cache; return how many there were."""
    cache = default_cache()
    return 0 if cache is None else cache.clear()
