"""``jax.extend.random``: generators of random bits of one's own, which become Rabbet's generators."""

import itertools

ABSENT = (
    "seed_with_impl threefry2x32_p threefry_2x32 threefry_prng_impl rbg_prng_impl unsafe_rbg_prng_impl"
)

_unnamed = itertools.count(1)


def define_prng_impl(*, key_shape, seed, split, random_bits, fold_in, name="<unnamed>", tag="?"):
    """A generator for ``key(seed, impl=...)``.

    Args:
      key_shape: the shape of the uint32 array that stores one key.
      seed: ``(number) -> data``, of an int32 scalar.
      split: ``(data, shape) -> data``, new keys of a shape.
      random_bits: ``(data, width, shape) -> bits``, unsigned integers of 8, 16, 32 or 64 bits.
      fold_in: ``(data, number) -> data``, of a uint32 scalar.
      name: what the generator is called; two of one name are one. Those without a name are told apart.
      tag: a short name for the dtype of its keys.
    """
    from rabbet import lax, random

    return random.Generator(
        f"{name} {next(_unnamed)}" if name == "<unnamed>" else name,
        tag,
        tuple(key_shape),
        seed=lambda words: seed(lax.bitcast_convert_type(words[1], "int32")),
        split=split,
        fold_in=fold_in,
        random_bits=lambda data, shape, width: random_bits(data, width, shape),
    )
