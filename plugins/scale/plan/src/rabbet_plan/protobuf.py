"""Messages of protocol buffers, read field by field: what XLA gives of its programs and buffers.

The format is that of https://protobuf.dev/programming-guides/encoding/. The numbers of fields are a promise
of their makers; those that are not asked for are passed over, so that newer messages can be read.
"""

from __future__ import annotations

from collections.abc import Iterator

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5


def varint(data: bytes, at: int) -> tuple[int, int]:
    """The number that begins at ``at``, and where it ends."""
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at


def fields(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    """``(number, value)`` of each field of a message, in its order: an int, or bytes for what has a length.

    Raises:
      ValueError: for what is no such message.
    """
    at, end = 0, len(data)
    while at < end:
        key, at = varint(data, at)
        number, kind = key >> 3, key & 7
        if kind == VARINT:
            value, at = varint(data, at)
            yield number, value
            continue
        if kind == BYTES:
            length, at = varint(data, at)
        elif kind in (FIXED64, FIXED32):
            length = 8 if kind == FIXED64 else 4
        else:
            raise ValueError(f"a message of protocol buffers has no field of kind {kind}")
        yield number, data[at : at + length]
        at += length


def message(data: bytes) -> dict[int, list]:
    """The fields of a message by number, each a list of values."""
    found: dict[int, list] = {}
    for number, value in fields(data):
        found.setdefault(number, []).append(value)
    return found


def numbers(values: list) -> list[int]:
    """A repeated field of whole numbers, which may be packed into bytes."""
    found: list[int] = []
    for value in values:
        if isinstance(value, int):
            found.append(signed(value))
            continue
        at = 0
        while at < len(value):
            one, at = varint(value, at)
            found.append(signed(one))
    return found


def signed(value: int) -> int:
    """A number of 64 bits with its sign."""
    return value - (1 << 64) if value >> 63 else value


def one(found: dict[int, list], number: int, default=0):
    """The last value of a field, or the default."""
    return found[number][-1] if number in found else default


def text(found: dict[int, list], number: int) -> str:
    """A field that is a text."""
    return one(found, number, b"").decode(errors="replace")


__all__ = ["fields", "message", "numbers", "one", "signed", "text", "varint"]
