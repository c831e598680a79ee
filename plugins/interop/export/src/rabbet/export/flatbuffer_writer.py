"""FlatBuffers, written with the package ``flatbuffers``: tables as values by the number of their field."""

import struct
from typing import NamedTuple

import flatbuffers


class Number(NamedTuple):
    """A number of a ``struct`` format; one that is equal to the default is left out."""

    form: str
    value: int
    default: int = 0


class Numbers(NamedTuple):
    """A vector of numbers."""

    form: str
    values: tuple


SLOTS = {"?": "Bool", "B": "Uint8", "H": "Uint16", "I": "Uint32", "i": "Int32"}


def written(table):
    """The bytes of a table: a dict from the number of a field to a ``Number``, ``Numbers``, bytes, a text,
    another table, or a list of texts or tables. None is left out.
    """
    builder = flatbuffers.Builder(1024)
    builder.Finish(_table(builder, table))
    return bytes(builder.Output())


def _table(builder, fields):
    placed = {i: _placed(builder, v) for i, v in fields.items() if v is not None}
    builder.StartObject(max(fields, default=-1) + 1)
    for i, value in placed.items():
        if isinstance(value, Number):
            getattr(builder, f"Prepend{SLOTS[value.form]}Slot")(i, value.value, value.default)
        else:
            builder.PrependUOffsetTRelativeSlot(i, value, 0)
    return builder.EndObject()


def _placed(builder, value):
    """A number as it is; the offset of anything else, which must stand before the table that names it."""
    if isinstance(value, Number):
        return value
    if isinstance(value, Numbers):
        width = struct.calcsize("<" + value.form)
        builder.StartVector(width, len(value.values), width)
        for one in reversed(value.values):
            getattr(builder, f"Prepend{SLOTS[value.form]}")(one)
        return builder.EndVector()
    if isinstance(value, bytes):
        return builder.CreateByteVector(value)
    if isinstance(value, str):
        return builder.CreateString(value)
    if isinstance(value, dict):
        return _table(builder, value)
    offsets = [_placed(builder, one) for one in value]
    builder.StartVector(4, len(offsets), 4)
    for offset in reversed(offsets):
        builder.PrependUOffsetTRelative(offset)
    return builder.EndVector()


__all__ = ["Number", "Numbers", "written"]
