"""A file with the parts of a state that one process has: a table of contents, then the values.

It is written under another name and renamed, so that what has the name is whole; the table and each part have
a checksum.
"""

import json
import os
import secrets
import zlib
from pathlib import Path

import numpy as np
from rabbet import dtypes

from rabbet_store.errors import CheckpointError

MAGIC = b"RBPARTS1"
HEAD = len(MAGIC) + 8 + 4  # the length of the table, and its checksum


def packed(facts, leaves):
    """The bytes of a file, as an array of uint8.

    Args:
      facts: a dict for the table of contents.
      leaves: a list of ``Leaf``.
    """
    parts, values, place = [], [], 0
    for number, leaf in enumerate(leaves):
        for index, value in leaf.parts:
            found = np.ascontiguousarray(value).reshape(-1).view(np.uint8)
            ends = [s.indices(n)[:2] for s, n in zip(index, leaf.row["shape"], strict=True)]
            parts.append([number, ends, place, found.size, zlib.crc32(found)])
            values.append(found)
            place += found.size
    table = json.dumps({**facts, "parts": parts}, allow_nan=False).encode()
    out = np.empty(HEAD + len(table) + place, np.uint8)
    head = MAGIC + len(table).to_bytes(8, "little") + zlib.crc32(table).to_bytes(4, "little")
    out[:HEAD] = np.frombuffer(head, np.uint8)
    out[HEAD : HEAD + len(table)] = np.frombuffer(table, np.uint8)
    place = HEAD + len(table)
    for value in values:
        out[place : place + value.size] = value
        place += value.size
    return out


def write(path, content):
    """Write a file; it has its name once it is whole. Another process may write the same one meanwhile."""
    partly = path.with_name(f"{path.name}-{secrets.token_hex(4)}.part")
    with open(partly, "wb") as file:
        file.write(content.data)
        file.flush()
        os.fsync(file.fileno())
    partly.rename(path)


class Parts:
    """The parts of one process: of a file, or of bytes that another process sent.

    Raises:
      CheckpointError: for what is no such file.
    """

    def __init__(self, content):
        self.path = content if isinstance(content, Path) else None
        self.content = np.memmap(content, np.uint8, "r") if isinstance(content, Path) else content
        try:
            if self.content[: len(MAGIC)].tobytes() != MAGIC:
                raise ValueError("it does not begin as one")
            head = self.content[len(MAGIC) : HEAD].tobytes()
            self.first = HEAD + int.from_bytes(head[:8], "little")
            table = self.content_of_table().tobytes()
            if zlib.crc32(table) != int.from_bytes(head[8:], "little"):
                raise ValueError("its table of contents is damaged")
            self.table = json.loads(table)
            self.by_leaf: dict = {}
            for n, ends, *part in self.table["parts"]:
                self.by_leaf.setdefault(n, []).append((ends, part))
            end = max([place + size for _, _, place, size, _ in self.table["parts"]], default=0)
            if self.first + end != self.content.size:
                raise ValueError("it is not whole")
        except (ValueError, KeyError, TypeError) as error:
            raise CheckpointError(f"{self.path or 'what a process sent'} holds no parts: {error}") from None

    def content_of_table(self):
        """The bytes of the table of contents."""
        return self.content[HEAD : self.first]

    def of(self, number):
        """The parts of a leaf: pairs of their ends in each dimension and what ``values`` takes."""
        return self.by_leaf.get(number, ())

    def values(self, part, dtype):
        """The values of a part as a flat array.

        Raises:
          CheckpointError: where they are not those that were written.
        """
        place, size, checksum = part
        found = np.asarray(self.content[self.first + place : self.first + place + size])
        if zlib.crc32(found) != checksum:
            raise CheckpointError(f"a part in {self.path or 'what a process sent'} is damaged")
        return found.view(dtype)

    def whole(self):
        """Whether each part is as it was written."""
        try:
            for _, _, *part in self.table["parts"]:
                self.values(part, np.uint8)
        except CheckpointError:
            return False
        return True


class PartReader:
    """One array of parts from several processes, as ``Loading`` reads arrays: see ``arrays.Reader``."""

    def __init__(self, row, number, held):
        self.name, self.shape = row["name"], tuple(row["shape"])
        self.dtype = np.dtype(dtypes.canonicalize(row["dtype"]))
        self.number, self.held, self.wanted = number, held, []

    def start(self, index):
        """Say that a part will be wanted."""
        self.wanted.append([s.indices(n)[:2] for s, n in zip(index, self.shape, strict=True)])

    def missing(self):
        """Of the parts that are wanted those that are not held in full."""
        return [ends for ends in self.wanted if self.joined(ends, look=True) is None]

    def finish(self, index, _):
        """The values of a part.

        Raises:
          CheckpointError: where somebody's part of it is not there.
        """
        found = self.joined([s.indices(n)[:2] for s, n in zip(index, self.shape, strict=True)])
        if found is None:
            raise CheckpointError(f"{self.name} of the checkpoint: no process has all parts of {index}")
        return found

    def joined(self, ends, look=False):
        """What the held parts say of a part, or None where they leave something out; with ``look`` True in
        its place.
        """
        shape = [b - a for a, b in ends]
        out, seen, left = None if look else np.empty(shape, self.dtype), set(), int(np.prod(shape))
        for parts in self.held:
            for have, part in parts.of(self.number):
                both = [(max(a, c), min(b, d)) for (a, b), (c, d) in zip(ends, have, strict=True)]
                key = tuple(map(tuple, have))
                if not left or key in seen or any(a >= b for a, b in both):
                    continue
                seen.add(key)
                left -= int(np.prod([b - a for a, b in both]))
                if not look:
                    values = parts.values(part, self.dtype).reshape([d - c for c, d in have])
                    out[tuple([slice(a - e, b - e) for (a, b), (e, _) in zip(both, ends)])] = values[
                        tuple([slice(a - c, b - c) for (a, b), (c, _) in zip(both, have)])
                    ]
        return None if left else True if look else out


__all__ = ["PartReader", "Parts", "packed", "write"]
