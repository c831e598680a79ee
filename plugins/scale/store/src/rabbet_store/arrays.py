"""One array on disk: Zarr version 3, by tensorstore, a chunk for each part that a device has, each with a
checksum.

Chunks that are missing are errors and not zeros, so chunks of zeros are written, too.
"""

import numpy as np
import tensorstore as ts
from rabbet import dtypes
from rabbet.extend.wrapping import is_of_handler

from rabbet_store.errors import CheckpointError

LARGEST_CHUNK = 64 << 20  # bytes
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
    while int(np.prod(shape, dtype=np.int64)) * itemsize > LARGEST_CHUNK:
        axis = next((i for i, n in enumerate(shape) if n > 1 and n % 2 == 0), None)
        if axis is None:
            break
        shape[axis] //= 2
    return shape


def description(folder, shape, dtype, chunk):
    """What tensorstore is told of a new array."""
    return {
        **place(folder),
        "metadata": {
            "shape": list(shape),
            "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": list(chunk)}},
            "data_type": stored_as(dtype).name,
            "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "crc32c"}],
        },
        "store_data_equal_to_fill_value": True,
    }


def place(folder):
    """What tensorstore is told of an array that is there."""
    return {
        "driver": "zarr3",
        "kvstore": {"driver": "file", "path": f"{folder}/"},
        "fill_missing_data_reads": False,
    }


def write(folder, shape, dtype, chunk, parts):
    """Write parts, pairs of an index and values. Returns futures."""
    if 0 in shape:
        return []
    array = ts.open(description(folder, shape, dtype, chunk), create=True, open=True).result()
    return [array[index].write(as_stored(values)) for index, values in parts]


class Reader:
    """An array on disk."""

    def __init__(self, folder, shape, dtype, name):
        self.folder, self.shape, self.name = folder, tuple(shape), name
        self.dtype = np.dtype(dtypes.canonicalize(dtype))
        self.array = None
        if 0 not in self.shape:
            try:
                self.array = ts.open(place(folder), open=True).result()
            except Exception as error:
                if is_of_handler(error):
                    raise
                raise self.damaged(error) from None
            if tuple(self.array.shape) != self.shape:
                raise self.damaged(f"it has shape {tuple(self.array.shape)}")

    def damaged(self, error):
        """The error for an array that cannot be read."""
        reason = str(error).split(" [")[0]
        return CheckpointError(f"{self.name} of the checkpoint is damaged: {reason} ({self.folder})")

    def start(self, index):
        """Begin to read a part. Returns a future, or None where there is nothing to read."""
        return None if self.array is None else self.array[index].read()

    def finish(self, index, future):
        """The values of a part. Raises CheckpointError for a chunk that is missing or damaged."""
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
        if self.array is None:
            return
        chunk = self.array.chunk_layout.read_chunk.shape or ()
        counts = [-(-n // c) for n, c in zip(self.shape, chunk, strict=True)]
        for place_ in np.ndindex(*counts):
            index = tuple([slice(i * c, min(n, (i + 1) * c)) for i, c, n in zip(place_, chunk, self.shape)])
            self.finish(index, self.start(index))


__all__ = ["Reader", "chunk_of", "stored_as", "write"]
