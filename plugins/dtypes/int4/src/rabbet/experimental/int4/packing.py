"""Several integers in a byte: for files, and for devices that would keep each in a byte of its own."""

from __future__ import annotations

from typing import Any

import rabbet.numpy as rnp
from rabbet import Array, dtypes, lax


def pack(x: Any) -> Array:
    """Integers of 4 or 2 bits packed into bytes along the last dimension, the first in the lowest bits.

    Args:
      x: an array ``(..., n)``, with ``n`` a multiple of 2 or 4.

    Returns:
      uint8 ``(..., n / 2)`` or ``(..., n / 4)``.

    Raises:
      TypeError: for another dtype. ValueError: if ``n`` is no such multiple.

    Example:
      >>> from rabbet.experimental import int4
      >>> int4.pack(rnp.array([1, -1, 7, 2], "int4")).tolist()
      [241, 39]
    """
    x = rnp.asarray(x)
    bits = _bits(x.dtype)
    each = 8 // bits
    if not x.ndim or x.shape[-1] % each:
        raise ValueError(f"int4.pack: {x.shape} has no last dimension of a multiple of {each}")
    codes = lax.bitwise_and(x.astype("int8").view("uint8"), rnp.uint8(2**bits - 1))
    codes = codes.reshape(*x.shape[:-1], x.shape[-1] // each, each)
    shifts = rnp.arange(0, 8, bits, dtype="uint8")
    return rnp.sum(lax.shift_left(codes, rnp.broadcast_to(shifts, codes.shape)), axis=-1, dtype="uint8")


def unpack(x: Any, dtype: Any = "int4") -> Array:
    """What ``pack`` packed: bytes ``(..., n)`` as integers ``(..., 2 n)`` of 4 bits, or ``(..., 4 n)`` of 2.

    Raises:
      TypeError: for an array that is not of uint8, or another dtype.

    Example:
      >>> from rabbet.experimental import int4
      >>> int4.unpack(rnp.array([241, 39], "uint8")).tolist()
      [1, -1, 7, 2]
    """
    x, dtype = rnp.asarray(x), dtypes.canonicalize(dtype)
    bits = _bits(dtype)
    if x.dtype != "uint8" or not x.ndim:
        raise TypeError(f"int4.unpack takes bytes, an array of uint8, got {x.dtype} of shape {x.shape}")
    each = 8 // bits
    spread = rnp.broadcast_to(x[..., None], (*x.shape, each))
    shifts = rnp.broadcast_to(rnp.asarray(list(range(8 - bits, -1, -bits)), "uint8"), spread.shape)
    high = lax.shift_left(spread, shifts)  # the wanted bits on top, so that the shift back has their sign
    down = rnp.full(spread.shape, 8 - bits, "uint8")
    if dtypes.kind(dtype) == "i":
        codes = lax.shift_right_arithmetic(high.view("int8"), down.view("int8"))
    else:
        codes = lax.shift_right_logical(high, down)
    return codes.reshape(*x.shape[:-1], x.shape[-1] * each).astype(dtype)


def _bits(dtype):
    bits = dtypes.itemsize_bits(dtype)
    if dtypes.kind(dtype) not in "iu" or bits not in (2, 4):
        raise TypeError(f"packed are integers of 4 or 2 bits, and {dtypes.short_name(dtype)} is not one")
    return bits


__all__ = ["pack", "unpack"]
