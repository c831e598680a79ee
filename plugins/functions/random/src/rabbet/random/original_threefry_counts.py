"""The older way to count with Threefry: the words 0 to n - 1, of which the first half is paired with the
second.

It is what ``config.threefry_partitionable = False`` asks for. Each word of an array depends on how many there
are, so that devices that hold parts of it cannot make theirs alone.
"""

import math

import numpy as np

from rabbet import lax
from rabbet.extend.transform import typeof
from rabbet.random.threefry import threefry2x32

WORD = np.dtype("uint32")


def halves(words, count, rounds=threefry2x32):
    """``count`` words of random bits, uint32[count]."""
    if not count:
        return lax.full((0,), 0, WORD)
    half = (count + 1) // 2
    first = lax.iota(WORD, half)
    # Of an odd count the last counter is 0.
    second = lax.add(first, WORD.type(half))
    if count % 2:
        second = lax.select(lax.lt(second, WORD.type(count)), second, lax.full_like(second, 0))
    made = lax.concatenate(list(rounds(*words, first, second)), 0)
    return lax.slice_in_dim(made, 0, count)


def bits_of_halves(words, shape, width, rounds=threefry2x32):
    """An array of ``width`` random bits each: several narrow ones are cut out of a word, a wide one is made
    of two.
    """
    size = math.prod(shape)
    if width == 64:
        made = halves(words, 2 * size, rounds)
        high, low = (lax.convert_element_type(w, np.uint64) for w in lax.split(made, (size, size)))
        return lax.reshape(lax.bitwise_or(lax.shift_left(high, 32), low), shape)
    each = 32 // width
    made = halves(words, -(-size // each), rounds)
    if each > 1:
        made = lax.bitcast_convert_type(made, np.dtype(f"uint{width}"))
        made = lax.reshape(made, (math.prod(typeof(made).shape),))
        made = lax.slice_in_dim(made, 0, size)
    return lax.reshape(made, shape)


__all__ = ["bits_of_halves", "halves"]
