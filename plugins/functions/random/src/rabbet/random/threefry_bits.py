"""Random bits of the two words of a Threefry key: how positions are counted, and how many rounds are written
out.
"""

import math

import numpy as np

from rabbet import config, lax
from rabbet.extend.shapes import exceeds
from rabbet.extend.transform import typeof
from rabbet.random.arguments import scalar
from rabbet.random.original_threefry_counts import bits_of_halves, halves
from rabbet.random.threefry import threefry2x32

WORD = np.dtype("uint32")
ROTATIONS = np.array([[13, 15, 26, 6], [17, 29, 16, 24]], WORD)
PARITY = WORD.type(0x1BD11BDA)


def compact_threefry(key0, key1, count0, count1):
    """The bits of ``threefry2x32`` by a loop over its five blocks of four rounds: slower, and quicker to
    compile.
    """
    shape = lax.broadcast_shapes(*[typeof(w).shape for w in (key0, key1, count0, count1)])
    rank = len(shape)
    key0, key1, count0, count1 = (
        lax.broadcast_in_dim(w, shape, tuple(range(rank - typeof(w).ndim, rank)))
        for w in (key0, key1, count0, count1)
    )
    parity = lax.bitwise_xor(lax.bitwise_xor(key0, key1), PARITY)

    def block(i, state):
        x, y, a, b, c, now, later = state
        for k in range(4):
            distance = lax.squeeze(lax.slice_in_dim(now, k, k + 1), (0,))
            x = lax.add(x, y)
            high = lax.shift_left(y, distance)
            low = lax.shift_right_logical(y, lax.sub(WORD.type(32), distance))
            y = lax.bitwise_xor(lax.bitwise_or(high, low), x)
        x = lax.add(x, b)
        y = lax.add(lax.add(y, c), lax.add(lax.convert_element_type(i, WORD), WORD.type(1)))
        return x, y, b, c, a, later, now

    start = (lax.add(count0, key0), lax.add(count1, key1), key0, key1, parity, *ROTATIONS)
    return lax.fori_loop(0, 5, block, start)[:2]


def unpack(vector):
    """The elements of a vector, as scalars."""
    return [lax.squeeze(part, (0,)) for part in lax.split(vector, (1,) * typeof(vector).shape[0])]


def counters(shape):
    """The positions of the elements of an array as pairs of words, the high one first; a scalar where it is
    zero throughout.
    """
    size = math.prod(shape)
    if not exceeds(size, 2**32):
        return scalar(0, WORD), lax.reshape(lax.iota(WORD, size), shape)
    position = lax.reshape(lax.iota(np.uint64, size), shape)
    high = lax.convert_element_type(lax.shift_right_logical(position, 32), WORD)
    return high, lax.convert_element_type(position, WORD)


class Compact(list):
    """Two words of a key whose bits a small loop computes: for samplers with many draws, whose programs would
    take long to compile with all of Threefry's rounds written out for each.
    """


def rounds_of(words):
    """Threefry for a key: written out, or as a loop."""
    return compact_threefry if isinstance(words, Compact) else threefry2x32


def blocks(words, shape):
    """The two words of a new key for each element of an array: the generator at its position, or for the
    older way of counting two words that follow each other.
    """
    if config.threefry_partitionable:
        return rounds_of(words)(*words, *counters(shape))
    pairs = lax.reshape(halves(words, 2 * math.prod(shape), rounds_of(words)), (*shape, 2))
    return [lax.index_in_dim(pairs, i, len(shape), keepdims=False) for i in (0, 1)]


def bits_of(words, shape, width):
    """An array of ``width`` independent random bits each, of the two words of a key."""
    if not config.threefry_partitionable:
        return bits_of_halves(words, shape, width, rounds_of(words))
    first, second = rounds_of(words)(*words, *counters(shape))
    if width == 64:
        high, low = (lax.convert_element_type(w, np.uint64) for w in (first, second))
        return lax.bitwise_or(lax.shift_left(high, 32), low)
    return lax.convert_element_type(lax.bitwise_xor(first, second), np.dtype(f"uint{width}"))


__all__ = ["Compact", "bits_of", "blocks", "unpack"]
