"""Bits as bytes, and bytes as bits."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

import numpy as np

from rabbet import lax
from rabbet.extend.functions import fused
from rabbet.numpy.elementwise.logic import truth
from rabbet.numpy.support.arguments import as_array, axis_of, check, kind_of

if TYPE_CHECKING:
    from rabbet.typing import Value

WORD = np.dtype("uint8")


def shifts(name: Any, bitorder: Any) -> Any:
    """The places of eight bits in a byte, in the order in which they stand."""
    if bitorder not in ("big", "little"):
        raise ValueError(f"{name}: bitorder must be 'big' or 'little', got {bitorder!r}")
    order = range(7, -1, -1) if bitorder == "big" else range(8)
    return np.fromiter(order, WORD, 8)


def flat_or(name: Any, a: Any, axis: Any) -> Any:
    """``a`` and its axis; in one dimension for no axis."""
    a = as_array(a)
    if axis is None:
        return lax.reshape(a, (a.size,)), 0
    return a, axis_of(name, axis, a.ndim)


@fused(static=("axis", "bitorder"))
def packbits(a: Value, axis: int | None = None, bitorder: str = "big") -> Value:
    """Eight booleans, or integers of which nonzero counts as one, in each byte.

    Args:
      a: an array of integers or booleans.
      axis: along which; None: all in row-major order. The last byte is filled up with zeros.
      bitorder: ``"big"``: the first of eight is the highest bit; ``"little"``: the lowest.

    Returns:
      uint8.

    Raises:
      TypeError: for another dtype.

    Example:
      >>> rnp.packbits(rnp.array([1, 0, 0, 0, 0, 0, 1, 1]))
      Array([131], dtype=uint8)
    """
    check("packbits", a)
    if kind_of(a) not in "biu":
        raise TypeError(f"packbits takes integers or booleans, got {as_array(a).aval.str_short()}")
    places = shifts("packbits", bitorder)
    a, axis = flat_or("packbits", a, axis)
    n = a.shape[axis]
    ones = lax.convert_element_type(truth(a), WORD)
    config = [(0, 0, 0)] * a.ndim
    config[axis] = (0, -n % 8, 0)
    ones = lax.pad(ones, WORD.type(0), config)
    shape = (*a.shape[:axis], -(-n // 8), 8, *a.shape[axis + 1 :])
    weights = lax.broadcast_in_dim(np.left_shift(WORD.type(1), places), shape, (axis + 1,))
    # Sums of different powers of two stay below 256.
    return lax.reduce_or(lax.mul(lax.reshape(ones, shape), weights), (axis + 1,))


@fused(static=("axis", "count", "bitorder"))
def unpackbits(a: Value, axis: int | None = None, count: int | None = None, bitorder: str = "big") -> Value:
    """The eight bits of each byte, as bytes 0 and 1.

    Args:
      a: an array of uint8.
      axis: along which they follow each other; None: all in row-major order, in one dimension.
      count: how many bits to keep along the axis, filled up with zeros; negative: how many to leave out at
        the end; None: all.
      bitorder: see ``packbits``.

    Raises:
      TypeError: for another dtype.

    Example:
      >>> rnp.unpackbits(rnp.array([131], dtype="uint8"))
      Array([1, 0, 0, 0, 0, 0, 1, 1], dtype=uint8)
    """
    check("unpackbits", a)
    a = as_array(a)
    if a.dtype != WORD:
        raise TypeError(f"unpackbits takes uint8, got {a.aval.str_short()}")
    places = shifts("unpackbits", bitorder)
    a, axis = flat_or("unpackbits", a, axis)
    shape = (*a.shape[: axis + 1], 8, *a.shape[axis + 1 :])
    spread = lax.broadcast_in_dim(a, shape, tuple([d for d in range(len(shape)) if d != axis + 1]))
    bits = lax.shift_right_logical(spread, lax.broadcast_in_dim(places, shape, (axis + 1,)))
    bits = lax.bitwise_and(bits, WORD.type(1))
    n = 8 * a.shape[axis]
    bits = lax.reshape(bits, (*a.shape[:axis], n, *a.shape[axis + 1 :]))
    if count is None:
        return bits
    count = operator.index(count)
    kept = n + count if count < 0 else count
    if kept < 0:
        raise ValueError(f"unpackbits: count={count} leaves out more than the {n} bits that there are")
    config = [(0, 0, 0)] * a.ndim
    config[axis] = (0, kept - n, 0)
    return lax.pad(bits, WORD.type(0), config)


__all__ = ["packbits", "unpackbits"]
