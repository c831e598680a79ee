"""Bytes from process to process, by programs over their devices: all processes call these alike."""

import functools
import json

import numpy as np
import rabbet as rb
from rabbet import lax
from rabbet.sharding import Mesh, NamedSharding, PartitionSpec

PIECE = 32 << 20  # bytes that travel at once


def gathered(said):
    """What each process says: a list of values of JSON, by the number of the process."""
    if rb.process_count() == 1:
        return [said]
    text = np.frombuffer(json.dumps(said).encode(), np.uint8)
    sizes = rb.experimental.multihost_utils.process_allgather(np.array([text.size], np.int32))[:, 0]
    padded = np.zeros(rounded(max(sizes)), np.uint8)
    padded[: text.size] = text
    rows = rb.experimental.multihost_utils.process_allgather(padded)
    return [json.loads(row[:n].tobytes()) for row, n in zip(rows, sizes, strict=True)]


def from_one(content, source):
    """The bytes that the process ``source`` has, in all of them; the others give None."""
    if rb.process_count() == 1:
        return content
    mine = rb.process_index() == source
    size = gathered(content.size if mine else 0)[source]
    out = np.empty(size, np.uint8)
    for start in range(0, size, PIECE):
        piece = np.zeros(rounded(min(PIECE, size - start)), np.uint8)
        length = min(PIECE, size - start)
        if mine:
            piece[:length] = content[start : start + length]
        sent = rb.experimental.multihost_utils.broadcast_one_to_all(piece, mine)
        out[start : start + length] = sent[:length]
    return out


def handed_on(content, steps):
    """Bytes handed to the process that is ``steps`` further, in a ring; what came from the one before."""
    count = rb.process_count()
    sizes = gathered(content.size)
    mine = sizes[(rb.process_index() - steps) % count]
    out, largest = np.empty(mine, np.uint8), max(sizes)
    for start in range(0, largest, PIECE):
        piece = np.zeros((1, rounded(min(PIECE, largest - start))), np.uint8)
        sent = content[start : start + PIECE]
        piece[0, : sent.size] = sent
        got = ring(piece, steps)
        length = min(PIECE, max(0, mine - start))
        out[start : start + length] = got[:length]
    return out


def ring(piece, steps):
    """One row of each process, from the process ``steps`` before."""
    mesh = process_mesh(rb.process_count(), tuple(rb.devices()))
    sharding = NamedSharding(mesh, PartitionSpec("processes"))
    rows = rb.make_array_from_process_local_data(sharding, piece)
    return np.asarray(shifted(sharding, steps)(rows).addressable_shards[0].data)[0]


@functools.lru_cache(maxsize=2)
def process_mesh(count, devices):
    """The first device of each process, in a row."""
    grid = np.empty(count, object)
    for device in reversed(devices):
        grid[device.process_index] = device
    return Mesh(grid, ("processes",))


@functools.lru_cache(maxsize=4)
def shifted(sharding, steps):
    """The program that hands rows on."""
    return rb.jit(
        lambda x: lax.concatenate([x[x.shape[0] - steps :], x[: x.shape[0] - steps]], 0),
        out_shardings=sharding,
    )


def rounded(size):
    """A size of which there are few, so that few programs are compiled."""
    return max(64, 1 << (int(size) - 1).bit_length()) if size else 64


def distances(machine):
    """How far each other process is, the same numbers in all of them: first the next one that is on another
    machine, of each of them, and those as far from there.
    """
    machines = gathered(machine)
    count = len(machines)
    far = [n for n in range(1, count) if all(machines[i] != machines[i - n] for i in range(count))]
    first = [far[0] * i % count for i in range(1, count)] if far else []
    return [n for n in dict.fromkeys([*first, *range(1, count)]) if n]


__all__ = ["distances", "from_one", "gathered", "handed_on"]
