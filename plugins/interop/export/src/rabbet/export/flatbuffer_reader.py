"""FlatBuffers, read with every position checked, so that damaged bytes are an error and nothing worse.

The format: https://flatbuffers.dev/internals. The package ``flatbuffers`` writes it; its reader trusts what
it reads.
"""

import struct

from rabbet.export.errors import ExportError

DEEPEST = 200


class Damaged(ExportError):
    """Bytes that are no artifact, or no longer the one that was written."""


class Buffer:
    """Bytes to read from. ``left`` bounds how many objects are read: positions may point anywhere, also to
    the same place again and again.
    """

    def __init__(self, data):
        self.data, self.left = data, 64 + 2 * len(data)

    def number(self, form, at):
        """The number of the ``struct`` format ``form`` at a position."""
        self.left -= 1
        if at < 0 or self.left < 0:
            raise Damaged("its parts point outside of it")
        try:
            return struct.unpack_from("<" + form, self.data, at)[0]
        except struct.error:
            raise Damaged("its parts point outside of it") from None

    def root(self):
        """The outermost table."""
        return Table(self, self.number("I", 0), 0)

    def target(self, at):
        """Where the offset at a position points to."""
        return at + self.number("I", at)

    def vector(self, at, size):
        """The position of the first element of a vector, and how many there are."""
        start = self.target(at)
        count = self.number("I", start)
        if start + 4 + count * size > len(self.data):
            raise Damaged("a part of it is longer than the whole")
        return start + 4, count

    def content(self, at):
        """The bytes of a vector of bytes or of a text."""
        start, count = self.vector(at, 1)
        return bytes(self.data[start : start + count])


class Table:
    """A table: values by the number of their field."""

    def __init__(self, buffer, at, depth):
        if depth > DEEPEST:
            raise Damaged(f"its structures are nested more than {DEEPEST} deep")
        self.buffer, self.at, self.depth = buffer, at, depth
        self.fields = at - buffer.number("i", at)
        self.size = buffer.number("H", self.fields)

    def place(self, field):
        """The position of a field, or None where the table has the default."""
        entry = 4 + 2 * field
        if entry + 2 > self.size:
            return None
        offset = self.buffer.number("H", self.fields + entry)
        return self.at + offset if offset else None

    def number(self, field, form, default=0):
        """A number."""
        at = self.place(field)
        return default if at is None else self.buffer.number(form, at)

    def numbers(self, field, form):
        """A vector of numbers."""
        at = self.place(field)
        if at is None:
            return []
        width = struct.calcsize("<" + form)
        start, count = self.buffer.vector(at, width)
        return [self.buffer.number(form, start + width * i) for i in range(count)]

    def content(self, field):
        """A vector of bytes."""
        at = self.place(field)
        return b"" if at is None else self.buffer.content(at)

    def text(self, field):
        """A text."""
        return decoded(self.content(field))

    def texts(self, field):
        """A vector of texts."""
        at = self.place(field)
        if at is None:
            return []
        start, count = self.buffer.vector(at, 4)
        return [decoded(self.buffer.content(start + 4 * i)) for i in range(count)]

    def table(self, field):
        """A table within this one, or None."""
        at = self.place(field)
        return None if at is None else Table(self.buffer, self.buffer.target(at), self.depth + 1)

    def tables(self, field):
        """A vector of tables."""
        at = self.place(field)
        if at is None:
            return []
        start, count = self.buffer.vector(at, 4)
        places = [self.buffer.target(start + 4 * i) for i in range(count)]
        return [Table(self.buffer, place, self.depth + 1) for place in places]


def decoded(content):
    """Bytes as text."""
    try:
        return content.decode()
    except UnicodeDecodeError:
        raise Damaged("a text in it is none") from None


__all__ = ["Buffer", "Damaged", "Table"]
