"""Protocol buffers, written: messages as values by the number of their field.

The wire format: https://protobuf.dev/programming-guides/encoding. A message is a dict from a field's number
to an int or bool (a varint), bytes or a text, another message, or a list of these for a repeated field; None
is left out. A map is a list of messages with the fields 1 and 2.
"""


def message(fields):
    """The bytes of a message."""
    out = bytearray()
    for number, value in fields.items():
        for one in value if isinstance(value, list) else [value]:
            out += _field(number, one)
    return bytes(out)


def mapping(entries):
    """A map of texts to messages."""
    return [{1: key, 2: value} for key, value in entries.items()]


def packed(numbers):
    """A repeated field of numbers in one piece."""
    return b"".join([varint(n) for n in numbers])


def varint(n):
    """A number of 64 bits, seven bits a byte; negative ones as their two's complement."""
    n &= 2**64 - 1
    out = bytearray()
    while n > 127:
        out.append(n & 127 | 128)
        n >>= 7
    out.append(n)
    return bytes(out)


def _field(number, value):
    if value is None:
        return b""
    if isinstance(value, int):  # bool too
        return varint(number << 3) + varint(value)
    if isinstance(value, dict):
        value = message(value)
    content = value.encode() if isinstance(value, str) else bytes(value)
    return varint(number << 3 | 2) + varint(len(content)) + content


__all__ = ["mapping", "message", "packed", "varint"]
