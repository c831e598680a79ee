"""Which shared libraries a library needs, and which of those the system's loader would not find: read from
the file's header, so that nothing is loaded.
"""

from __future__ import annotations

import os
import struct
from pathlib import Path

DYNAMIC, NEEDED, STRINGS, RUNPATH, RPATH = 2, 1, 5, 29, 15
CACHE = "/etc/ld.so.cache"
FOLDERS = ("/lib64", "/usr/lib64", "/lib", "/usr/lib", "/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu",
           "/lib/aarch64-linux-gnu", "/usr/lib/aarch64-linux-gnu")  # fmt: skip


def needs(path: str | Path) -> tuple[list[str], list[str]]:
    """``(libraries, folders)``: the names that a shared library asks for, and the folders that it names to
    look in; both empty for what is not a library of 64 bits.
    """
    with open(path, "rb") as file:
        head = file.read(64)
        if head[:5] != b"\x7fELF\x02" or len(head) < 64:
            return [], []
        (offset,), (size, count) = struct.unpack_from("<Q", head, 32), struct.unpack_from("<HH", head, 54)
        file.seek(offset)
        table = file.read(size * count)
        segments = [struct.unpack_from("<IIQQQQQQ", table, i * size) for i in range(count)]
        dynamic = next((s for s in segments if s[0] == DYNAMIC), None)
        if dynamic is None:
            return [], []
        file.seek(dynamic[2])
        content = file.read(dynamic[5])
        entries = list(struct.iter_unpack("<QQ", content[: len(content) // 16 * 16]))
        address = next((value for tag, value in entries if tag == STRINGS), None)
        if address is None:
            return [], []

        def text(place: int) -> str:
            for kind, _, start, where, _, length, _, _ in segments:
                if kind == 1 and where <= address < where + length:
                    file.seek(start + address - where + place)
                    return file.read(4096).split(b"\0", 1)[0].decode(errors="replace")
            return ""

        names = [text(value) for tag, value in entries if tag == NEEDED]
        folders = [text(value) for tag, value in entries if tag in (RUNPATH, RPATH)]
    origin = str(Path(path).resolve().parent)
    every = [f for f in ":".join(folders).split(":") if f]
    return names, [f.replace("${ORIGIN}", origin).replace("$ORIGIN", origin) for f in every]


def missing_libraries(path: str | Path) -> list[str]:
    """The libraries that a shared library needs and that the system's loader would not find, each by its
    name. Nothing is loaded; what is loaded already counts as found.

    Example:
      >>> from rabbet.extend.native import missing_libraries
      >>> missing_libraries(rb.__file__)
      []
    """
    names, folders = needs(path)
    cache = _read(CACHE)
    loaded = _read("/proc/self/maps")
    asked = [f for f in os.environ.get("LD_LIBRARY_PATH", "").split(":") if f]
    return [name for name in names if not _is_there(name, [*folders, *asked, *FOLDERS], cache, loaded)]


def _is_there(name: str, folders: list[str], cache: bytes, loaded: bytes) -> bool:
    known = name.encode()
    return (
        known + b"\0" in cache
        or b"/" + known + b"\n" in loaded
        or any(os.path.exists(os.path.join(folder, name)) for folder in folders)
    )


def _read(file: str) -> bytes:
    try:
        return Path(file).read_bytes()
    except OSError:
        return b""


__all__ = ["missing_libraries", "needs"]
