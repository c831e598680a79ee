"""From a key to random bits, and from bits to numbers between 0 and 1, as programs inside programs.

The functions here take the two words of a key and serve the public ones, which run each as one compiled
program.
"""

import numpy as np

from rabbet import dtypes, lax
from rabbet.random.generators import Source
from rabbet.random.threefry_bits import bits_of

WIDTHS = (8, 16, 32, 64)


def unsigned(width):
    """The unsigned integer dtype of ``width`` bits."""
    return np.dtype(f"uint{width}")


def random_bits(words, shape, width):
    """An array of ``width`` independent random bits each."""
    if isinstance(words, Source):
        return words.generator.random_bits(words.data, shape, width)
    return bits_of(words, shape, width)


def unit(words, shape, dtype):
    """Floats spread evenly over [0, 1), all of them multiples of the dtype's epsilon."""
    return unit_of_bits(random_bits(words, shape, width_for(dtype)), dtype)


def width_for(dtype):
    """How many bits make a float: the least width that fills its mantissa."""
    mantissa = dtypes.finfo(dtype).nmant
    return next(width for width in WIDTHS if width >= mantissa)


def unit_of_bits(bits, dtype):
    """Random bits as the mantissa of a float between 1 and 2, less 1."""
    width, mantissa = width_for(dtype), dtypes.finfo(dtype).nmant
    stored = unsigned(dtypes.itemsize_bits(dtype))
    one = int(np.ones((), dtype).view(stored))
    mantissas = lax.convert_element_type(lax.shift_right_logical(bits, width - mantissa), stored)
    between_1_and_2 = lax.bitcast_convert_type(lax.bitwise_or(mantissas, one), dtype)
    return lax.sub(between_1_and_2, 1.0)


def between(floats, low, high):
    """Floats in [0, 1) moved to [low, high), for bounds that are scalars or arrays of the same dtype."""
    # Rounding may move a number below ``low``, and does where ``low`` exceeds ``high``.
    return lax.max(low, lax.add(lax.mul(floats, lax.sub(high, low)), low))


def above_zero(words, shape, dtype, least):
    """Floats in [least, 1) for a number ``least`` that is representable in ``dtype``: what may go into a
    logarithm.
    """
    return from_least(unit(words, shape, dtype), least, dtype)


def from_least(floats, least, dtype):
    """Floats in [0, 1) moved to [least, 1)."""
    span = float(np.ones((), dtype) - np.asarray(least, dtype))
    return lax.max(lax.add(lax.mul(floats, span), least), least)


def fine_unit(words, shape, dtype):
    """Floats in (0, 1), of which those below one half, which have room for it, have further random digits."""
    least = float(dtypes.finfo(dtype).tiny)
    both = from_least(unit(words, (2, *shape), dtype), least, dtype)
    coarse, fine = (lax.squeeze(x, (0,)) for x in lax.split(both, (1, 1)))
    finer = lax.add(coarse, lax.mul(fine, float(dtypes.finfo(dtype).eps)))
    return lax.select(lax.lt(coarse, 0.5), finer, coarse)
