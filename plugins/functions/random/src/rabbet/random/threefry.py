"""Threefry-2x32: 64 bits from a key of 64 bits and a counter of 64 bits, all as pairs of 32-bit words.

The counter-based generator of J. K. Salmon, M. A. Moraes, R. O. Dror and D. E. Shaw, "Parallel random
numbers: as easy as 1, 2, 3" (SC 2011), with its recommended 20 rounds. It is written in elementwise
operations: a compiler fuses them with whatever makes the counters and uses the bits, which no special
instruction beats, and the bits are the same on every backend.
"""

import math

import numpy as np

from rabbet.extend.primitive import Primitive, elementwise_aval, no_tangent
from rabbet.lax import add, bitwise_or, bitwise_xor, shift_left, shift_right_logical

ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
"""By how many bits each of four rounds rotates; the two rows take turns."""

PARITY = 0x1BD11BDA
"""The third word of the key is this one xor the other two."""

WORD = np.dtype("uint32")

FEW_WORDS = 8
"""Of so many words of new keys, four keys, a loop stays one kernel and has no barrier."""


def threefry2x32_aval(key0, key1, count0, count1):
    words = (key0, key1, count0, count1)
    if any(w.dtype != WORD for w in words):
        shown = ", ".join([w.str_short() for w in words])
        raise TypeError(
            f"threefry2x32 takes four arrays of uint32: two words of key, two of counter; got {shown}"
        )
    out = elementwise_aval("threefry2x32", *words).strong()
    return out, out


threefry2x32 = Primitive(
    "threefry2x32", threefry2x32_aval, kinds=("elementwise",), multiple_results=True,
    doc="two words of random bits for a key (two words) and a counter (two words)",
)  # fmt: skip
threefry2x32.rule("jvp")(no_tangent)


@threefry2x32.decompose
def threefry2x32_rounds(op, key0, key1, count0, count1):
    """Five times four rounds of add, rotate, xor; after each four, two words of the key and a number are
    added.
    """
    key = (key0, key1, bitwise_xor(bitwise_xor(key0, key1), PARITY))
    x, y = add(count0, key0), add(count1, key1)
    for block in range(5):
        for distance in ROTATIONS[block % 2]:
            x = add(x, y)
            y = bitwise_xor(rotate_left(y, distance), x)
        x = add(x, key[(block + 1) % 3])
        y = add(y, add(key[(block + 2) % 3], block + 1))
    return [x, y]


def rotate_left(word, distance):
    """A 32-bit word with its bits moved up by ``distance``, those that fall out coming in below."""
    return bitwise_or(shift_left(word, distance), shift_right_logical(word, 32 - distance))


new_keys = Primitive(
    "new_keys", lambda words: words, kinds=("elementwise",), operands=("words",),
    doc="the words of new keys, which the compiler for CPUs makes once, and not again for each use",
)  # fmt: skip
new_keys.rule("jvp")(no_tangent)


@new_keys.rule("lower")
def lower_new_keys(op, words):
    return words


@new_keys.rule("lower:cpu")
def lower_new_keys_on_cpu(op, words):
    """A barrier, but for few keys in bodies, where the code generator for small loops cannot read it. Without
    it the compiler repeats the rounds that made a key for each of its uses, and those of its own key for each
    of these: with jaxlib 0.12 ``key, sub = split(key)``, twice, did not compile within a minute, and neither
    did a loop that splits a key for each of several environments, which draw from theirs.
    """
    sizes = op.out.shape
    if op.is_in_a_body and all(type(n) is int for n in sizes) and math.prod(sizes) <= FEW_WORDS:
        return words
    return op.emit(f"stablehlo.optimization_barrier {words} : {op.out.mlir}")


__all__ = ["new_keys", "threefry2x32"]
