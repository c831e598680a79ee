"""The key of this user, with which entries of a shared folder are signed: what others write there is a miss.

It lies in the user's own cache folder, readable by nobody else, and is made when it is first needed.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Any

from rabbet.messages.signal_errors import raise_if_of_handler

NAME, SIZE = "shared-folder-key", 32


def user_folder() -> Path:
    """'rabbet' in the user's cache folder as the XDG specification has it.

    Raises:
      RuntimeError: where there is no home folder.
    """
    base = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(base) if os.path.isabs(base) else Path.home() / ".cache") / "rabbet"


def user_key(trusted: Any) -> bytes | None:
    """The key, or None where there is no place for one that is this user's alone.

    Args:
      trusted: ``trusted(status, is_kind)`` returns why a file or folder cannot be trusted, or None.
    """
    try:
        folder = user_folder()
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if trusted(os.lstat(folder), stat.S_ISDIR) is not None:
            return None
        return _read(folder / NAME, trusted) or _make(folder / NAME, trusted)
    except (OSError, RuntimeError) as error:
        raise_if_of_handler(error)
        return None


def _read(path: Path, trusted: Any) -> bytes | None:
    try:
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    except FileNotFoundError:
        return None
    with open(handle, "rb") as file:
        status = os.fstat(handle)
        if trusted(status, stat.S_ISREG) is not None or status.st_mode & 0o077:
            raise OSError("the key can be read by others")
        content = file.read(SIZE + 1)
    return content if len(content) == SIZE else None


def _make(path: Path, trusted: Any) -> bytes | None:
    from rabbet.runtime.caching.atomic_files import write_whole

    write_whole(path, os.urandom(SIZE))
    return _read(path, trusted)  # whose replaced whose does not matter: what stands there now is the key


def signature(key: bytes, name: str, body: bytes) -> bytes:
    """What binds an entry to its name and to the owner of the key."""
    import hashlib  # where a folder is shared at all
    import hmac

    return hmac.new(key, name.encode() + b"\n" + body, hashlib.sha256).digest()


def mark(key: bytes) -> str:
    """A few letters for the owner of a key, for names of files."""
    import hashlib

    return hashlib.sha256(b"rabbet cache owner\n" + key).hexdigest()[:12]
