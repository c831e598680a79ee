"""Generators of random bits: Threefry, and two that use the compiler's own; and how another package adds one.

A ``Generator`` is a value. ``key(seed, impl=generator)`` makes keys of it, whose dtype knows it. A package
gives one a name by an entry point in the group ``rabbet.generators``; then ``impl="its name"`` finds it.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from rabbet import lax
from rabbet.extend.transform import typeof
from rabbet.random.platform_bits import rng_bit_generator
from rabbet.random.threefry import threefry2x32
from rabbet.random.threefry_bits import bits_of, blocks, unpack

WORD = np.dtype("uint32")
GROUP = "rabbet.generators"


@dataclass(frozen=True)
class Generator:
    """How keys of one kind make random bits and new keys.

    Args:
      name: what ``impl`` calls it, ``"threefry2x32"``.
      tag: a short name for the dtype of its keys, ``"fry"`` for ``key<fry>``.
      key_shape: the shape of the uint32 array that stores one key.
      seed: ``(words) -> data``: a key from two words of a seed, uint32[2], the high one first.
      split: ``(data, shape) -> data``: new keys of a shape, uint32[*shape, *key_shape].
      fold_in: ``(data, number) -> data``: a new key from a key and a number, a uint32 scalar.
      random_bits: ``(data, shape, width) -> bits``: an array of unsigned integers of 8, 16, 32 or 64 bits.

    Two generators are equal if they have one name.

    Example:
      >>> from rabbet.random import Generator
      >>> counter = Generator(
      ...     "counter", "cnt", (1,), seed=lambda words: words[1:],
      ...     split=lambda data, shape: data + 1 + rnp.indices(shape).sum(0).astype("uint32")[..., None],
      ...     fold_in=lambda data, number: data + number,
      ...     random_bits=lambda data, shape, width: rnp.full(shape, data[0]).astype(f"uint{width}"),
      ... )  # numbers for tests, not for anything else
      >>> counter.random_bits(counter.seed(rnp.array([0, 7], "uint32")), (2,), 32).tolist()
      [7, 7]
    """

    name: str
    tag: str
    key_shape: tuple
    seed: Callable[..., Any] = field(compare=False, repr=False)
    split: Callable[..., Any] = field(compare=False, repr=False)
    fold_in: Callable[..., Any] = field(compare=False, repr=False)
    random_bits: Callable[..., Any] = field(compare=False, repr=False)

    def __reduce__(self):
        return find_generator, (self.name,)


class Source(NamedTuple):
    """One key of a generator other than Threefry, whose two words are passed about as they are."""

    generator: Generator
    data: Any


# ----------------------------------------------------------------------------------------------- Threefry
def threefry_blocks(data, shape):
    """Two words of random bits for each element of an array, from a key uint32[2]."""
    return blocks(unpack(data), shape)


def threefry_split(data, shape):
    """New keys from a key."""
    return lax.stack(threefry_blocks(data, shape), axis=len(shape))


def threefry_fold_in(data, number):
    """A new key from a key and a number."""
    first, second = (lax.squeeze(part, (0,)) for part in lax.split(data, (1, 1)))
    return lax.stack(threefry2x32(first, second, np.zeros((), WORD)[()], number))


def bits_of_data(data, shape, width):
    """Random bits; ``generator.random_bits`` is what the samplers use."""
    return bits_of(unpack(data), shape, width)


THREEFRY = Generator(
    "threefry2x32", "fry", (2,), lambda words: words, threefry_split, threefry_fold_in, bits_of_data
)


# --------------------------------------------------------------------------------------- the compiler's own
def twice(words):
    """A seed as both halves of a key of four words."""
    return lax.concatenate([words, words], 0)


def of_halves(function):
    """A function of Threefry keys on both halves of a key of four words."""

    def both(data, argument):
        halves = [function(part, argument) for part in lax.split(data, (2, 2))]
        return lax.concatenate(halves, typeof(halves[0]).ndim - 1)

    return both


def compiler_bits(data, shape, width):
    """The bits that the platform's generator makes from a key."""
    return rng_bit_generator(data, shape, np.dtype(f"uint{width}"))[1]


RBG = Generator(
    "rbg", "rbg", (4,), twice, of_halves(threefry_split), of_halves(threefry_fold_in), compiler_bits
)

STEP = 10
"""New keys of ``unsafe_rbg`` are every tenth group of four words."""


def unsafe_split(data, shape):
    """New keys from the generator's own bits: quick, and without a proof that they are independent."""
    count = int(np.prod(shape, dtype=np.int64))
    words = compiler_bits(data, (STEP * count, 4), 32)
    return lax.reshape(
        lax.slice(words, (0, 0), (STEP * count, 4), (STEP, 1)) if count else words, (*shape, 4)
    )


def unsafe_fold_in(data, number):
    """A new key from the bits that a number makes as a seed."""
    zero = lax.full((), 0, WORD)
    seeded = twice(lax.stack([zero, lax.convert_element_type(number, WORD)]))
    words = compiler_bits(seeded, (STEP, 4), 32)
    return lax.bitwise_xor(data, lax.squeeze(lax.slice_in_dim(words, STEP - 1, STEP), (0,)))


UNSAFE_RBG = Generator("unsafe_rbg", "urbg", (4,), twice, unsafe_split, unsafe_fold_in, compiler_bits)

BUILT_IN = {generator.name: generator for generator in (THREEFRY, RBG, UNSAFE_RBG)}
_found: dict[str, Generator] = {}


def find_generator(name):
    """The generator of a name: one of ours, or one that an installed package names by an entry point.

    Raises:
      ValueError: if there is none, or several packages offer one.
    """
    known = BUILT_IN.get(name) or _found.get(name)
    if known is not None:
        return known
    import importlib.metadata  # only where it is asked for: it takes as long as this package

    entries = list(importlib.metadata.entry_points(group=GROUP, name=name))
    if len(entries) > 1:
        offered = ", ".join([f"{e.value} ({e.dist.name if e.dist else '?'})" for e in entries])
        raise ValueError(f"the generator {name!r} is offered by several packages: {offered}; uninstall one")
    if not entries:
        others = sorted(importlib.metadata.entry_points(group=GROUP).names)
        raise ValueError(
            f"unknown generator {name!r}: rabbet.random has {', '.join([*BUILT_IN, *others])}; a package "
            f"adds one by an entry point in the group {GROUP!r}"
        )
    generator = entries[0].load()
    if not isinstance(generator, Generator):
        raise ValueError(f"the entry point {entries[0].value} names {generator!r:.60}, which is no Generator")
    _found[name] = generator
    return generator


__all__ = ["BUILT_IN", "RBG", "THREEFRY", "UNSAFE_RBG", "Generator", "Source", "find_generator"]
