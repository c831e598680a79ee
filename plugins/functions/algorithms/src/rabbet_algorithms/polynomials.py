"""Polynomials at arrays, and the logarithm to base 2."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rabbet import Array, lax
from rabbet.extend.functions import array_or_tracer
from rabbet.extend.transform import typeof

if TYPE_CHECKING:
    from rabbet.typing import Value


def polynomial(x: Value, coeffs: Sequence[Value], *, unroll: int | None = None) -> Array:
    """``coeffs[0] + coeffs[1] * x + coeffs[2] * x**2 + ...``, by Horner's rule.

    Args:
      x: an array of numbers.
      coeffs: numbers, or arrays of the dtype and shape of ``x``, from the lowest degree up.
      unroll: accepted as in JAX, without effect: there is no loop.

    Returns:
      an array like ``x``; zeros without coefficients.

    Example:
      >>> lax.polynomial(rnp.array([1.0, 2.0]), [1.0, 0.0, 3.0])
      Array([ 4., 13.], dtype=float32)
    """
    x = array_or_tracer(x)
    total = lax.full_like(x, 0)
    for i, c in enumerate(reversed(list(coeffs))):
        total = lax.add(lax.full_like(x, 0), c) if i == 0 else lax.add(lax.mul(total, x), c)
    return total


def log2(x: Value, *, accuracy: Any = None) -> Array:
    """The logarithm to base 2 of floats or complex numbers.

    Args:
      accuracy: as ``lax.log`` takes it.

    Example:
      >>> lax.log2(rnp.array([1.0, 8.0]))
      Array([0., 3.], dtype=float32)
    """
    natural = lax.log(array_or_tracer(x), accuracy=accuracy)
    return lax.mul(natural, typeof(natural).dtype.type(1 / math.log(2)))


__all__ = ["log2", "polynomial"]
