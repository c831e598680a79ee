"""Rounding to a format: what a conversion does, up to the format's ends, and by chance."""

from __future__ import annotations

from typing import Any

import rabbet.numpy as rnp
from rabbet import Array, dtypes, lax


def saturate(x: Any, dtype: Any) -> Array:
    """``x`` as ``dtype``, with numbers beyond its largest one at that number; a conversion alone makes NaN or
    infinity of them in most formats. NaN stays NaN, where the format has one.

    Args:
      x: an array of floats, of any shape.
      dtype: a dtype of floats.

    Returns:
      an array of the same shape.

    Example:
      >>> from rabbet.experimental import float8
      >>> float8.saturate(rnp.array([1.0, 1e6]), "float8_e4m3fn").astype("float32").tolist()
      [1.0, 448.0]
    """
    spec = dtypes.spec(dtype)
    x = rnp.asarray(x)
    return lax.clamp(spec.smallest, x, spec.largest).astype(spec.dtype)


def stochastic_round(x: Any, dtype: Any, key: Any) -> Array:
    """``x`` as ``dtype``, each number rounded up or down by chance so that the result is right on average.

    The probability of the neighbour above is the distance from the one below, in units of the distance
    between them (Gupta et al., 2015, "Deep learning with limited numerical precision"). Sums of many rounded
    numbers, such as gradients, then keep what rounding to nearest would lose.

    Args:
      x: an array of floats. dtype: a dtype of floats of at most 16 bits, with both signs and a zero.
      key: a key of ``rabbet.random``.

    Returns:
      an array of the same shape; numbers beyond the largest one become that.

    Raises:
      TypeError: for a dtype that is no such format.

    Example:
      >>> from rabbet.experimental.float8 import stochastic_round
      >>> x = rnp.full(1000, 1.03)  # between 1 and 1.125
      >>> rounded = stochastic_round(x, "float8_e4m3fn", rb.random.key(0)).astype("float32")
      >>> sorted(set(rounded.tolist())), abs(float(rounded.mean()) - 1.03) < 0.01
      ([1.0, 1.125], True)
    """
    from rabbet import random

    spec = dtypes.spec(dtype)
    if spec.kind != "f" or spec.storage_bits > 16 or not spec.zero:
        raise TypeError(
            "stochastic_round rounds to floats of at most 16 bits that have a zero, and "
            f"{spec.name} is not one"
        )
    limits = spec.limits
    x = rnp.asarray(x).astype("float32")
    places = int(limits.nmant)
    least = round(_log2(float(limits.tiny)))
    _, exponent = rnp.frexp(x)  # x is in [2**(exponent - 1), 2**exponent)
    unit = rnp.ldexp(rnp.float32(1), rnp.maximum(exponent - 1, least) - places)
    steps = rnp.floor(x / unit + random.uniform(key, x.shape))
    rounded = lax.clamp(spec.smallest, steps * unit, spec.largest)
    return rnp.where(rnp.isfinite(x), rounded, x).astype(spec.dtype)


def _log2(x):
    import math

    return math.log2(x)


__all__ = ["saturate", "stochastic_round"]
