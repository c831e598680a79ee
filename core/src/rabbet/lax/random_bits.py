"""The backends' own random generators; most programs want ``rabbet.random``."""

import numpy as np

from rabbet import dtypes
from rabbet.lax.shapes import sizes_of
from rabbet.primitives import random_bits as _random_bits
from rabbet.primitives.random_bits import RandomAlgorithm
from rabbet.runtime.transfer import obeys_out_sharding


@obeys_out_sharding
def rng_bit_generator(
    key, shape, dtype=np.uint32, algorithm=RandomAlgorithm.RNG_DEFAULT, *, out_sharding=None
):
    """Random bits from a key.

    Args:
      key: ``uint32[4]`` or ``uint64[2]``.
      shape: of the result.
      dtype: an integer dtype; all its values are equally likely.
      algorithm: a ``RandomAlgorithm``; the default one is the platform's, so its bits differ between
        platforms.

    Returns:
      (key, bits): the key to use next, and an array of ``shape``. Mapped by ``vmap``, each key gives what it
      gives alone.

    Raises:
      TypeError: if the key or the dtype is of another kind.
    """
    return tuple(
        _random_bits.rng_bit_generator(
            key,
            shape=sizes_of(shape, "shape"),
            dtype=dtypes.canonicalize(dtype),
            algorithm=RandomAlgorithm(algorithm),
        )
    )


def rng_uniform(a, b, shape):
    """Random numbers from ``a`` to below ``b`` (integers or floats, scalars of one dtype): other ones each
    time that the program runs, because the backend's generator keeps a state of its own.
    """
    return _random_bits.rng_uniform(a, b, shape=sizes_of(shape, "shape"))


__all__ = ["RandomAlgorithm", "rng_bit_generator", "rng_uniform"]
