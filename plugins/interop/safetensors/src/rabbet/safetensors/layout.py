"""The layout of a safetensors file: a length, a JSON header, and the bytes of the tensors.

The first eight bytes are the header's length, little-endian. The header is an object with, for each tensor,
its dtype, shape and position; after it come the tensors, in row-major order and without gaps. The source is
the description of the format in the documentation of the library safetensors. What is read is checked
before any byte is interpreted.
"""

from __future__ import annotations

import json
import math
from typing import Any, NamedTuple

import numpy as np

from rabbet import dtypes

# The format's names. Those of less than a byte are not here: the format packs them, arrays of NumPy do not.
NAMES = {
    "BOOL": "bool", "U8": "uint8", "I8": "int8", "U16": "uint16", "I16": "int16", "U32": "uint32",
    "I32": "int32", "U64": "uint64", "I64": "int64", "F16": "float16", "BF16": "bfloat16",
    "F32": "float32", "F64": "float64", "C64": "complex64",
    "F8_E4M3": "float8_e4m3fn", "F8_E5M2": "float8_e5m2", "F8_E8M0": "float8_e8m0fnu",
    "F8_E4M3FNUZ": "float8_e4m3fnuz", "F8_E5M2FNUZ": "float8_e5m2fnuz",
}  # fmt: skip
CODES = {name: code for code, name in NAMES.items()}
MOST = 100_000_000  # bytes of header that the library safetensors accepts
METADATA = "__metadata__"


class Entry(NamedTuple):
    """A tensor in a file: its dtype, shape, and its bytes' position after the header."""

    dtype: np.dtype
    shape: tuple[int, ...]
    start: int
    stop: int


def read_header(bytes_of, size, where):
    """The entries by name, the metadata, and where the tensors begin.

    Args:
      bytes_of: ``(start, stop) -> bytes`` of the file.
      size: how many bytes it has.
      where: its name, for messages.

    Raises:
      ValueError: it is not a safetensors file, is cut off, or contradicts itself.
      TypeError: a tensor has a dtype without an equal here.
    """

    def wrong(what):
        return ValueError(f"{where} is not a valid safetensors file: {what}")

    if size < 8:
        raise wrong(f"it has {size} bytes, and the length of the header alone has 8")
    length = int.from_bytes(bytes_of(0, 8), "little")
    if length > min(MOST, size - 8):
        raise wrong(f"its header would have {length} bytes, the file has {size}")
    try:
        header = json.loads(bytes_of(8, 8 + length).decode(), object_pairs_hook=without_repetition)
    except (ValueError, RecursionError) as error:
        raise wrong(f"its header cannot be read: {error}") from None
    if not isinstance(header, dict):
        raise wrong("its header is not an object")
    metadata = header.pop(METADATA, {})
    if not isinstance(metadata, dict) or not all(isinstance(v, str) for v in metadata.values()):
        raise wrong("its metadata are not texts by name")
    entries, room = {}, size - 8 - length
    for name, given in header.items():
        entries[name] = read_entry(given, lambda what, name=name: wrong(f"{what} (tensor {name!r})"))
    end = 0
    for entry in sorted(entries.values(), key=lambda e: (e.start, e.stop)):
        if entry.start != end:
            raise wrong(f"byte {min(entry.start, end)} of the tensors belongs to none or to two of them")
        end = entry.stop
    if end != room:
        raise wrong(
            f"the tensors have {end} bytes, and after the header come {room}: it is cut off "
            "or has grown"
        )
    return entries, metadata, 8 + length


def without_repetition(pairs):
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a name stands in it twice")
    return found


def read_entry(given, wrong):
    """One tensor's part of the header."""
    try:
        code, shape, (start, stop) = given["dtype"], given["shape"], given["data_offsets"]
        numbers = [*shape, start, stop]
        sound = all(type(n) is int and n >= 0 for n in numbers)
    except (KeyError, TypeError, ValueError):
        sound = False
    if not sound:
        raise wrong("its dtype, shape or data_offsets are missing or no sizes")
    if code not in NAMES:
        raise TypeError(str(wrong(f"arrays have no dtype for {code!r}; there are {', '.join(NAMES)}")))
    dtype = dtypes.canonicalize(NAMES[code])
    if stop - start != math.prod(shape) * dtype.itemsize:
        raise wrong(f"{stop - start} bytes cannot be {code}{list(shape)}")
    return Entry(dtype, tuple(shape), start, stop)


def write_header(arrays: dict[str, np.ndarray], metadata: dict[str, str]) -> bytes:
    """The header, its length included, padded with spaces so that the tensors begin at a multiple of
    eight."""
    header: dict[str, Any] = {METADATA: metadata} if metadata else {}
    start = 0
    for name, x in arrays.items():
        stop = start + x.nbytes
        header[name] = {"dtype": CODES[x.dtype.name], "shape": list(x.shape), "data_offsets": [start, stop]}
        start = stop
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text


__all__ = ["CODES", "METADATA", "NAMES", "Entry", "read_header", "write_header"]
