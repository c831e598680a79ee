"""Rows of ``threefry.py``."""

import numpy as np

from rabbet.random.threefry import threefry2x32
from rabbet.testing.draws import among
from rabbet.testing.table import Row

WORDS = (0, 1, 12345, 2**31, 2**32 - 1)


def by_hand(key0, key1, count0, count1):
    """The published generator, round by round, on Python's whole numbers."""
    shape = np.broadcast_shapes(*[np.shape(w) for w in (key0, key1, count0, count1)])
    words = [np.broadcast_to(w, shape).ravel() for w in (key0, key1, count0, count1)]
    out = np.array([_block(*map(int, four)) for four in zip(*words)], np.uint32).reshape(*shape, 2)
    return out[..., 0], out[..., 1]


def _block(key0, key1, x, y):
    mask = 2**32 - 1
    key = (key0, key1, 0x1BD11BDA ^ key0 ^ key1)
    x, y = (x + key0) & mask, (y + key1) & mask
    for i in range(20):
        distance = (13, 15, 26, 6, 17, 29, 16, 24)[i % 8]
        x = (x + y) & mask
        y = ((y << distance | y >> (32 - distance)) & mask) ^ x
        if i % 4 == 3:
            n = i // 4 + 1
            x, y = (x + key[n % 3]) & mask, (y + key[(n + 1) % 3] + n) & mask
    return x, y


ARRAY, SCALAR = among(WORDS, 3, 4), among(WORDS, *())._replace(shape=())

ROWS = [
    Row(threefry2x32, by_hand, (ARRAY, ARRAY, ARRAY, ARRAY), ("uint32",)),
    Row(threefry2x32, by_hand, (SCALAR, SCALAR, SCALAR, ARRAY), ("uint32",), note="one key"),
    Row(threefry2x32, by_hand, (ARRAY, ARRAY, SCALAR, SCALAR), ("uint32",), note="one counter"),
]
