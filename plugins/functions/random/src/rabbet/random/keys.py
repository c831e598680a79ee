"""Keys: what makes random numbers reproducible, and how one key becomes many.

A key of the standard generator is two words of 32 bits. As a *typed* key, from ``key``, it is one element of
the dtype ``key<fry>``: an array of keys of shape S has shape S, moves through indexing, ``vmap`` and ``jit``
like numbers do, and cannot be mistaken for numbers. The older form, ``uint32[2]`` from ``PRNGKey``, is
accepted wherever a key is.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import numpy as np

from rabbet import Array, config, dtypes, lax
from rabbet.extend.dtype import ExtendedDType
from rabbet.extend.functions import fused, to_array
from rabbet.extend.primitive import from_physical, keep_apart, to_physical
from rabbet.extend.transform import is_tracer, typeof
from rabbet.extend.wrapping import stacklevel
from rabbet.random.arguments import scalar, shape_of
from rabbet.random.generators import THREEFRY, Generator, Source, find_generator
from rabbet.random.threefry import new_keys, threefry2x32
from rabbet.random.threefry_bits import Compact, blocks, unpack

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from rabbet.typing import DTypeLike, Value

WORD = np.dtype("uint32")

Key = Array
"""The type of keys, for annotations."""


class KeyDType(ExtendedDType):
    """The dtype of typed keys of one generator."""

    type = dtypes.prng_key

    def __init__(self, generator=THREEFRY):
        super().__init__(f"key<{generator.tag}>", WORD, generator.key_shape)
        self.generator = generator
        self.impl = generator.name

    def __reduce__(self):
        return KeyDType, (self.generator,)


KEY = KeyDType()


def default_generator():
    """The generator of keys for which none is named: the setting ``default_prng_impl``, if there is one."""
    name = getattr(config, "default_prng_impl", None) or THREEFRY.name
    try:
        return find_generator(name)
    except ValueError as error:
        raise ValueError(f"the setting default_prng_impl is {name!r}: {error}") from None


def key_dtype(impl_spec: Any = None) -> Any:
    """The dtype of the typed keys of a generator.

    Args:
      impl_spec: its name, ``"threefry2x32"``, ``"rbg"``, ``"unsafe_rbg"`` or one that a package adds; a
        ``Generator``; a dtype of keys; None: the standard one.

    Raises:
      ValueError: if there is no such generator. TypeError: for something else.

    Example:
      >>> random.key(0).dtype == random.key_dtype()
      True
    """
    if isinstance(impl_spec, KeyDType):
        return impl_spec
    if impl_spec is None:
        generator = default_generator()
    elif isinstance(impl_spec, Generator):
        generator = impl_spec
    elif isinstance(impl_spec, str):
        generator = find_generator(impl_spec)
    else:
        raise TypeError(f"a generator is named by a text, a Generator or a dtype of keys, got {impl_spec!r}")
    return KEY if generator == THREEFRY else KeyDType(generator)


# -------------------------------------------------------------------------------------------- making keys
def key(seed: Value, *, impl: Any = None, dtype: DTypeLike | None = None) -> Value:
    """A typed key from an integer.

    Args:
      seed: an int from -2**63 up to 2**64 - 1, a NumPy integer, or an integer array without dimensions. As
        everywhere, a Python int counts 32 bits, so that seeds which differ by a multiple of 2**32 give the
        same key; with ``config.enable_x64``, and for 64-bit arrays, all 64 bits count.
      impl: the generator: ``"threefry2x32"``, the standard one, gives the same bits everywhere. ``"rbg"``
        asks the compiler for bits and ``"unsafe_rbg"`` also for new keys: quicker on accelerators, and other
        bits on each platform. See ``key_dtype`` for more.
      dtype: the same, as the dtype of a key.

    Returns:
      a key: an array without dimensions of dtype ``key<fry>``, or that of the generator.

    Raises:
      TypeError: if the seed is no integer, or an array with dimensions. OverflowError: if it is too large.
      ValueError: if both ``impl`` and ``dtype`` are given, or there is no such generator.

    Example:
      >>> random.key(0)
      Array((), dtype=key<fry>) overlaying:
      [0 0]
      >>> random.key(0, impl="rbg").shape
      ()
    """
    chosen = chosen_dtype(impl, dtype, "key")
    return from_physical(seeded(seed_words(seed, "key"), chosen), dtype=chosen)


def seeded(words, dtype):
    """The bits of a key from the words of a seed."""
    return words if dtype is KEY else _seeded(words, dtype)


@fused(static=("dtype",))
def _seeded(words, dtype):
    return dtype.generator.seed(lax.convert_element_type(words, WORD))


def chosen_dtype(impl, dtype, who):
    """The key dtype that is named by a generator or by itself, not by both."""
    if impl is not None and dtype is not None:
        raise ValueError(f"{who}: give impl or dtype, not both")
    return key_dtype(impl if dtype is None else dtype)


def PRNGKey(seed: Value, *, impl: Any = None) -> Value:
    """A key in the older form, ``uint32[2]``, or ``uint32[4]`` for ``"rbg"``; the same bits as ``key(seed)``
    has. With ``config.enable_custom_prng`` it is ``key(seed)``.

    Example:
      >>> random.PRNGKey(7)
      Array([0, 7], dtype=uint32)
      >>> random.normal(random.PRNGKey(0), (2,))
      Array([1.6226422, 2.0252647], dtype=float32)
    """
    if config.enable_custom_prng:
        return key(seed, impl=impl)
    words = seeded(seed_words(seed, "PRNGKey"), key_dtype(impl))
    return to_array(words) if isinstance(words, np.ndarray) else words


def seed_words(seed, who):
    """The two words of a key, the high one first, as an array (of NumPy, if the seed is a plain number)."""
    if config.random_seed_offset:
        seed = seed + config.random_seed_offset
    if isinstance(seed, (int, np.integer)):
        narrow = not isinstance(seed, int) and seed.dtype.itemsize < 8
        return host_words(int(seed), wide=dtypes.wide_scalars() and not narrow, who=who)
    if isinstance(seed, (bool, np.bool_)):
        return host_words(int(seed), wide=False, who=who)
    aval = _aval(seed, f"{who}: the seed is an integer, got {type(seed).__name__} {seed!r}")
    if dtypes.kind(aval.dtype) not in "iub":
        raise TypeError(f"{who}: the seed is an integer, got an array {aval.str_short()}")
    if aval.shape:
        raise TypeError(
            f"{who}: the seed is one integer, got an array {aval.str_short()}; for many keys use split(key, "
            f"n) or vmap({who})(seeds)"
        )
    return _seed_words(seed)


def host_words(seed, wide, who):
    if not -(2**63) <= seed < 2**64:
        raise OverflowError(f"{who}: the seed {seed} does not fit 64 bits")
    return np.array([(seed >> 32) & 0xFFFFFFFF if wide else 0, seed & 0xFFFFFFFF], WORD)


@fused
def _seed_words(seed):
    low = lax.convert_element_type(seed, WORD)
    high = scalar(0, WORD)
    dtype = typeof(seed).dtype
    if dtype.itemsize == 8:
        bits = seed if dtype.kind == "u" else lax.bitcast_convert_type(seed, np.uint64)
        high = lax.convert_element_type(lax.shift_right_logical(bits, 32), WORD)
    return lax.stack([lax.convert_element_type(high, WORD), low])


# -------------------------------------------------------------------------------------- between the forms
def wrap_key_data(key_bits_array: Value, *, impl: Any = None, dtype: DTypeLike | None = None) -> Value:
    """Typed keys from their bits: ``uint32[..., 2]`` to keys of shape ``[...]``. ``impl`` and ``dtype`` are
    those of ``key``; the last dimensions are those of the generator.

    Example:
      >>> key = random.wrap_key_data(random.key_data(random.key(7)))
      >>> bool(random.uniform(key) == random.uniform(random.key(7)))
      True
    """
    dtype = chosen_dtype(impl, dtype, "wrap_key_data")
    own = dtype.physical_shape
    wanted = f"an array uint32[..., {', '.join(map(str, own))}]"
    aval = _aval(key_bits_array, f"wrap_key_data takes {wanted}, got {type(key_bits_array).__name__}")
    if aval.dtype != WORD or aval.shape[aval.ndim - len(own) :] != own or aval.ndim < len(own):
        raise TypeError(f"wrap_key_data takes {wanted}, got {aval.str_short()}")
    return from_physical(key_bits_array, dtype=dtype)


def key_data(keys: Value) -> Value:
    """The bits of keys: ``uint32[..., 2]`` for keys of shape ``[...]``, of either form.

    Example:
      >>> random.key_data(random.key(7))
      Array([0, 7], dtype=uint32)
    """
    if is_typed(keys):
        return to_physical(keys)
    check_words(keys, "key_data")
    return to_array(keys) if isinstance(keys, np.ndarray) else keys


def key_impl(keys: Value) -> str:
    """The name of the generator that keys, of either form, belong to.

    Example:
      >>> random.key_impl(random.key(0))
      'threefry2x32'
    """
    if is_typed(keys):
        return keys.dtype.impl
    check_words(keys, "key_impl")
    return default_generator().name


def clone(key: Value) -> Value:
    """The same key; where reuse of keys is checked (``config.debug_key_reuse``) it counts as another one.

    Example:
      >>> key = random.key(0)
      >>> bool(random.uniform(random.clone(key)) == random.uniform(key))
      True
    """
    if not is_typed(key):
        check_words(key, "clone")
    elif config.debug_key_reuse:
        from rabbet.random.key_marks import key_clone

        return key_clone(key)
    return key


def is_typed(keys):
    """Whether ``keys`` is an array of typed keys."""
    return isinstance(getattr(keys, "dtype", None), KeyDType)


def check_words(keys, who):
    """Refuse what is not an array of keys in the older form."""
    advice = "make one with rabbet.random.key(seed)"
    aval = _aval(keys, f"{who} needs a key, got {type(keys).__name__}: {advice}")
    own = default_generator().key_shape
    if aval.dtype != WORD or aval.ndim < len(own) or aval.shape[aval.ndim - len(own) :] != own:
        raise TypeError(f"{who} needs a key, got an array {aval.str_short()}: {advice}")


def _aval(x, message):
    if type(x) is Array or is_tracer(x) or isinstance(x, (np.ndarray, np.generic)):
        return typeof(x)
    raise TypeError(message)


# ----------------------------------------------------------------------------------------- words of a key
def words_of(key, who, uses=True):
    """What a single key draws from: its two words, as scalars, or a ``Source`` for another generator. The key
    is used up where it ``uses`` it, see ``config.debug_key_reuse``.

    Raises:
      TypeError: if ``key`` is none. ValueError: if it is an array of them.
    """
    if is_typed(key):
        generator = key.dtype.generator
        key = to_physical(used(key, who) if uses and config.debug_key_reuse else key)
    else:
        check_words(key, who)
        legacy(who)
        generator = default_generator()
    shape = typeof(key).shape
    rank = len(generator.key_shape)
    if len(shape) < rank:
        shown = typeof(key).str_short()
        raise TypeError(f"{who} takes a key, got {shown}; rabbet.random.key(seed) makes one")
    if len(shape) != rank:
        raise ValueError(
            f"{who} takes a single key, got an array of them of the shape {shape[: len(shape) - rank]}: map "
            "over it with rabbet.vmap"
        )
    return unpack(key) if generator == THREEFRY else Source(generator, key)


def used(key, who):
    """``key``, in a program that says that it is used up here."""
    from rabbet.random.key_marks import key_use

    return key_use(key, who=who)


def legacy(who):
    """What ``config.legacy_prng_key`` says of a key that is an array of numbers."""
    if config.legacy_prng_key == "allow":
        return
    message = f"{who} got a key that is an array of numbers; make keys with rabbet.random.key(seed)"
    if config.legacy_prng_key == "error":
        raise ValueError(f"{message}, or set config.legacy_prng_key to 'allow'")
    warnings.warn(message, stacklevel=stacklevel())


def subkeys(words, count):
    """The words, or sources, of ``count`` new keys."""
    if isinstance(words, Source):
        data = words.generator.split(words.data, (count,))
        return [Source(words.generator, lax.index_in_dim(data, i, keepdims=False)) for i in range(count)]
    first, second = blocks(words, (count,))
    made = Compact if isinstance(words, Compact) else tuple
    return [made(pair) for pair in zip(unpack(first), unpack(second))]


def like(key, pair):
    """New keys in the form that ``key`` has, from their first and their second words."""
    return form_of(key, new_keys(lax.stack(pair, axis=typeof(pair[0]).ndim)))


def form_of(key, data):
    """The bits of keys in the form that ``key`` has."""
    return from_physical(data, dtype=key.dtype) if is_typed(key) else data


# ------------------------------------------------------------------------------------------ keys in programs
def generator_of(words):
    """The generator that words, or a source, belong to."""
    return words.generator if isinstance(words, Source) else THREEFRY


def leaves_of(words):
    """The arrays of a key: what a loop carries, and what is mapped over."""
    return (words.data,) if isinstance(words, Source) else tuple(words)


def with_leaves(generator, leaves):
    """The key of a generator that has these arrays."""
    return Compact(leaves) if generator == THREEFRY else Source(generator, *leaves)


def compact(words):
    """The key for a sampler with many draws."""
    return words if isinstance(words, Source) else Compact(words)


def many_leaves(words, count):
    """The arrays of ``count`` new keys, with a dimension in front."""
    if isinstance(words, Source):
        return (words.generator.split(words.data, (count,)),)
    return tuple(blocks(words, (count,)))


# ------------------------------------------------------------------------------------ new keys from a key
@fused(static=("num",))
def split(key: Value, num: int | Sequence[int] = 2) -> Value:
    """New keys, independent of each other, from one that is then used up.

    Args:
      key: a single key.
      num: how many, an int; or a shape.

    Returns:
      an array of keys of shape ``(num,)`` or ``num``, in the form that ``key`` has.

    Example:
      >>> first, second = random.split(random.key(0))
      >>> random.split(random.key(0), 5).shape
      (5,)
    """
    words, shape = words_of(key, "split"), shape_of(num, "split")
    if isinstance(words, Source):
        return form_of(key, words.generator.split(words.data, shape))
    return like(key, blocks(words, shape))


def fold_in(key: Value, data: Value) -> Value:
    """A new key from a key and a number, such as the index of a step.

    Args:
      key: a single key.
      data: an int from 0 up to 2**32 - 1, or an integer array without dimensions.

    Raises:
      OverflowError: if a Python int is out of range. TypeError: if ``data`` is no integer, or has dimensions.

    Example:
      >>> key = random.key(0)
      >>> [random.fold_in(key, step).shape for step in range(2)]
      [(), ()]
    """
    if isinstance(data, (int, np.integer)):
        if not 0 <= data < 2**32:
            raise OverflowError(f"fold_in: the number {data} is not between 0 and 2**32 - 1")
        data = WORD.type(data)
    return _fold_in(key, data)


@fused
def _fold_in(key, data):
    words = words_of(key, "fold_in", uses=False)
    aval = typeof(data)
    if aval.shape or dtypes.kind(aval.dtype) not in "iub":
        raise TypeError(
            f"fold_in takes one integer, got {aval.str_short()}; for many keys use vmap(fold_in, "
            "in_axes=(None, 0))(key, numbers)"
        )
    data = lax.convert_element_type(data, WORD)
    if dtypes.itemsize_bits(aval.dtype) > 32:
        # In a loop that XLA makes one kernel of, LLVM analyses the narrowed counter and all that follows from
        # it together: with jaxlib 0.12 normal(fold_in(key, i)) did not compile in ten minutes.
        data = keep_apart(data)
    if isinstance(words, Source):
        return form_of(key, words.generator.fold_in(words.data, data))
    return like(key, threefry2x32(*words, scalar(0, WORD), data))


__all__ = [
    "KEY", "KeyDType", "PRNGKey", "blocks", "clone", "compact", "fold_in", "generator_of", "key",
    "key_data", "key_dtype", "key_impl", "leaves_of", "many_leaves", "split", "subkeys", "with_leaves",
    "words_of", "wrap_key_data",
]  # fmt: skip
