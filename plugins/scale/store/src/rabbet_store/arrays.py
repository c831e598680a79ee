"""One array on disk: Zarr version 3, by tensorstore, a chunk for each part that a device has, each with a
checksum at its end.

The manifest repeats the checksum of each chunk, so a chunk that is whole but belongs elsewhere is found, and
it says what the array's own metadata say, which are not believed. Chunks that are missing are errors and not
zeros, so chunks of zeros are written, too.
"""

import hashlib
import math
import os
import stat
from pathlib import Path

import numpy as np
import tensorstore as ts
from rabbet import dtypes
from rabbet.extend.wrapping import is_of_handler

from rabbet_store.errors import CheckpointError

LARGEST_CHUNK = 64 << 20  # bytes
CHECKSUM = 4  # bytes at the end of a chunk
# Names that Zarr has for dtypes, of those that tensorstore can write; others are kept as their bytes.
PLAIN = {
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32",
    "float64", "bfloat16", "complex64", "complex128",
}  # fmt: skip


def stored_as(dtype):
    """The dtype under which the values of a dtype are kept: its own, or bytes."""
    return np.dtype(dtype) if dtype.name in PLAIN else np.dtype(np.uint8)


def as_stored(values):
    """NumPy values as they are kept."""
    kept = stored_as(values.dtype)
    return values if kept == values.dtype else values.view(kept)


def chunk_of(part, itemsize):
    """The shape of the chunks for parts of one shape: the part, or equal pieces of it where it is large."""
    shape = [max(1, n) for n in part]
    while math.prod(shape) * itemsize > LARGEST_CHUNK:
        axis = next((i for i, n in enumerate(shape) if n > 1 and n % 2 == 0), None)
        if axis is None:
            break
        shape[axis] //= 2
    return shape


def description(folder, shape, dtype, chunk):
    """What tensorstore is told of an array."""
    return {
        "driver": "zarr3",
        "kvstore": {"driver": "file", "path": f"{folder}/"},
        "metadata": {
            "shape": list(shape),
            "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": list(chunk)}},
            "data_type": stored_as(dtype).name,
            "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "crc32c"}],
        },
        "fill_missing_data_reads": False,
        "store_data_equal_to_fill_value": True,
    }


def context():
    """How tensorstore writes: files are brought to the disk together, by ``to_disk``."""
    return ts.Context({"file_io_sync": False})


def create(folder, shape, dtype, chunk, how):
    """Begin to make an array that some process may have made already. Returns a future."""
    return ts.open(description(folder, shape, dtype, chunk), create=True, open=True, context=how)


def grid(shape, chunk):
    """How many chunks an array has along each dimension."""
    return [-(-n // c) for n, c in zip(shape, chunk, strict=True)]


def chunks_within(index, shape, chunk):
    """The numbers of the chunks that a part touches, and where each is in the grid."""
    counts = grid(shape, chunk)
    ends = [s.indices(n) for s, n in zip(index, shape, strict=True)]
    spans = [range(a // c, -(-b // c)) for (a, b, _), c in zip(ends, chunk)]
    for offsets in np.ndindex(*[len(span) for span in spans]):
        place = tuple([span[i] for span, i in zip(spans, offsets)])
        number = 0
        for i, n in zip(place, counts):
            number = number * n + i
        yield number, place


def chunk_path(folder, place):
    """The file of a chunk."""
    return Path(folder, *map(str, ("c", *place)))


def checksum_of(path, size):
    """The checksum at the end of a file of this size, as hexadecimal digits.

    Raises:
      OSError, ValueError: where it is missing, of another kind or size.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | getattr(os, "O_CLOEXEC", 0))
    try:
        facts = os.fstat(descriptor)
        if not stat.S_ISREG(facts.st_mode):
            raise ValueError("it is no file")
        if facts.st_size != size:
            raise ValueError(f"it has {facts.st_size} bytes, and {size} are expected")
        found = os.pread(descriptor, CHECKSUM, size - CHECKSUM)
    finally:
        os.close(descriptor)
    return found.hex()


def bytes_of_chunk(chunk, dtype):
    """The size of the file of a chunk."""
    return math.prod(chunk) * stored_as(dtype).itemsize * ratio(dtype) + CHECKSUM


def ratio(dtype):
    """How many elements are kept for one of this dtype."""
    return dtype.itemsize // stored_as(dtype).itemsize


def digest_of(path):
    """The SHA-256 of a small file. Raises OSError or ValueError."""
    return hashlib.sha256(small_file(path)).hexdigest()


def small_file(path, largest=1 << 16):
    """The content of a file that is small. Raises OSError or ValueError; a pipe is not waited for."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | getattr(os, "O_CLOEXEC", 0))
    with open(descriptor, "rb") as file:
        facts = os.fstat(descriptor)
        if not stat.S_ISREG(facts.st_mode):
            raise ValueError("it is no file")
        if facts.st_size > largest:
            raise ValueError(f"it has {facts.st_size} bytes")
        return file.read()


class Reader:
    """An array on disk, as a row of the manifest tells of it."""

    def __init__(self, folder, row):
        self.name, self.shape = row["name"], tuple(row["shape"])
        self.folder = folder / row["folder"]
        self.chunk, self.checksums, self.metadata = row["chunk"], row.get("crc32c"), row.get("metadata")
        self.dtype = np.dtype(dtypes.canonicalize(row["dtype"]))
        self.array = None

    def damaged(self, error):
        """The error for an array that cannot be read."""
        reason = str(error).split(" [")[0]
        return CheckpointError(f"{self.name} of the checkpoint is damaged: {reason} ({self.folder})")

    def start(self, index):
        """Begin to read a part. Returns a future, or None where there is nothing to read.

        Raises:
          CheckpointError: for a chunk that is missing, of another size, or another one than was written.
        """
        if 0 in self.shape:
            return None
        try:
            self.look_at_chunks(index)
            if self.array is None:
                self.look_at_metadata()
                told = description(self.folder, self.shape, self.dtype, self.chunk)
                self.array = ts.open({**told, "assume_metadata": True}, open=True).result()
            return self.array[index].read()
        except Exception as error:
            if is_of_handler(error):
                raise
            raise self.damaged(error) from None

    def look_at_metadata(self):
        """Compare the metadata with those that were written; format 1 does not know them."""
        try:
            found = digest_of(self.folder / "zarr.json")
        except (OSError, ValueError) as error:
            raise CheckpointError(f"zarr.json: {getattr(error, 'strerror', None) or error}") from None
        if self.metadata is not None and found != self.metadata:
            raise CheckpointError("zarr.json is another one than was written")

    def look_at_chunks(self, index):
        """Compare the chunks of a part with what was written."""
        size = bytes_of_chunk(self.chunk, self.dtype)
        for number, place in chunks_within(index, self.shape, self.chunk):
            path = chunk_path(self.folder, place)
            try:
                found = checksum_of(path, size)
            except (OSError, ValueError) as error:
                reason = getattr(error, "strerror", None) or error
                raise CheckpointError(f"{path.relative_to(self.folder.parent)}: {reason}") from None
            if self.checksums is not None and found != self.checksums[number]:
                raise CheckpointError(
                    f"{path.relative_to(self.folder.parent)} is another chunk than the one that was written"
                )

    def finish(self, index, future):
        """The values of a part. Raises CheckpointError for a chunk that is damaged."""
        if future is None:
            return np.empty([len(range(*s.indices(n))) for s, n in zip(index, self.shape)], self.dtype)
        try:
            values = future.result()
        except Exception as error:
            if is_of_handler(error):
                raise
            raise self.damaged(error) from None
        return values if values.dtype == self.dtype else np.ascontiguousarray(values).view(self.dtype)

    def verify(self):
        """Read all of it, a chunk at a time."""
        if 0 in self.shape:
            return
        for place in np.ndindex(*grid(self.shape, self.chunk)):
            index = tuple(
                [slice(i * c, min(n, (i + 1) * c)) for i, c, n in zip(place, self.chunk, self.shape)]
            )
            self.finish(index, self.start(index))


__all__ = ["Reader", "chunk_of", "context", "create", "stored_as"]
