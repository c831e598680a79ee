"""``jax.extend.random``: generators of random bits of one's own, which become Rabbet's generators."""

import itertools

from rabbet_jax.primitives_by_name import primitive_named

IMPLEMENTATIONS = {
    "threefry_prng_impl": "threefry2x32",
    "rbg_prng_impl": "rbg",
    "unsafe_rbg_prng_impl": "unsafe_rbg",
}
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


def __getattr__(name):
    if name in IMPLEMENTATIONS:
        from rabbet import random

        return random.key_dtype(IMPLEMENTATIONS[name]).generator
    if name == "threefry2x32_p":
        return primitive_named(name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def random_seed(seeds, impl):
    """Keys of a generator from an array of seeds, of its shape."""
    import rabbet as rb
    from rabbet import random

    seeds = rb.numpy.asarray(seeds)
    make = lambda seed: random.key(seed, impl=getattr(impl, "name", impl))
    for _ in range(seeds.ndim):
        make = rb.vmap(make)
    return make(seeds)


def seed_with_impl(impl, seed):
    """Keys of a generator from an array of seeds."""
    return random_seed(seed, impl)


def threefry_2x32(keypair, count):
    """The Threefry hash of a pair of words for each of an array of counters.

    Args:
      keypair: two uint32 scalars, or an array of two.
      count: a uint32 array: the first half of its elements counts the high words, the other the low ones.

    Returns:
      a uint32 array of the shape of ``count``.
    """
    import rabbet.numpy as rnp

    first, second = keypair
    flat = rnp.asarray(count).reshape(-1)
    if flat.dtype != "uint32":
        raise TypeError(f"threefry_2x32 takes counters of uint32, got {flat.dtype}")
    odd = flat.size % 2
    even = rnp.concatenate([flat, rnp.zeros((odd,), "uint32")])
    halves = rnp.split(even, 2)
    out = rnp.concatenate(primitive_named("threefry2x32_p")(first, second, *halves))
    return (out[:-1] if odd else out).reshape(rnp.shape(count))
