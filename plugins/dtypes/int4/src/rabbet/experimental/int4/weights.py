"""Weights of few bits with scales, and their products with arrays of floats (weight-only quantization)."""

from __future__ import annotations

from typing import Any, NamedTuple

import rabbet.numpy as rnp
from rabbet import Array, dtypes, lax


class Quantized(NamedTuple):
    """A matrix of few bits; ``(values - zero) * scale`` is what it stands for. A pytree of arrays.

    Args:
      values: integers ``(n, m)``.
      scale: float32 ``(blocks, m)``: one scale for each column, in each of the blocks of rows.
      zero: float32 ``(blocks, m)``, the integer that stands for 0; None where that is 0.

    Example:
      >>> from rabbet.experimental import int4
      >>> isinstance(int4.quantize(rnp.ones((4, 2))), int4.Quantized)
      True
    """

    values: Any
    scale: Any
    zero: Any = None


def quantize(w: Any, dtype: Any = "int4", block: int | None = None) -> Quantized:
    """A matrix of weights in few bits.

    Signed integers are symmetric, from ``-largest`` to ``largest``; unsigned ones reach from the smallest
    weight to the largest, with a zero point.

    Args:
      w: an array ``(n, m)`` of floats: ``n`` inputs, ``m`` outputs (channels).
      dtype: ``"int4"``, ``"int2"``, ``"uint4"`` or ``"uint2"``; integers of 8 bits do too.
      block: how many rows share a scale; None: all, so each channel has one scale.

    Returns:
      a ``Quantized``.

    Raises:
      TypeError: for an array that is no matrix or a dtype that is no integer. ValueError: if blocks do not
        fill the rows.

    Example:
      >>> from rabbet.experimental import int4
      >>> w = int4.quantize(rnp.arange(8.0).reshape(4, 2))
      >>> int4.dequantize(w).shape
      (4, 2)
    """
    w, spec = rnp.asarray(w), dtypes.spec(dtype)
    if w.ndim != 2:
        raise TypeError(f"int4.quantize takes a matrix (inputs, outputs), got shape {w.shape}")
    if spec.kind not in "iu":
        raise TypeError(f"int4.quantize makes integers, and {spec.name} is none")
    n, m = w.shape
    block = n if block is None else block
    if block < 1 or n % block:
        raise ValueError(f"int4.quantize: {n} rows are not whole blocks of {block}")
    parts = w.astype("float32").reshape(n // block, block, m)
    if spec.kind == "i":
        low, zero = None, None
        reach = rnp.max(rnp.abs(parts), axis=1) / spec.largest
    else:
        low = rnp.minimum(rnp.min(parts, axis=1), 0.0)
        reach = (rnp.maximum(rnp.max(parts, axis=1), 0.0) - low) / spec.largest
    scale = rnp.where(reach > 0, reach, rnp.float32(1))
    steps = rnp.round(parts / scale[:, None])
    if low is not None:
        zero = rnp.round(-low / scale)
        steps = steps + zero[:, None]
    least = -spec.largest if spec.kind == "i" else 0
    values = lax.clamp(float(least), steps, float(spec.largest)).astype(spec.dtype)
    return Quantized(values.reshape(n, m), scale, zero)


def dequantize(weights: Quantized, dtype: Any = "float32") -> Array:
    """The matrix that a ``Quantized`` stands for, in ``dtype``.

    Example:
      >>> from rabbet.experimental import int4
      >>> int4.dequantize(int4.quantize(rnp.ones((4, 2))))
      Array([[1., 1.],
             [1., 1.],
             [1., 1.],
             [1., 1.]], dtype=float32)
    """
    (n, m), blocks = weights.values.shape, weights.scale.shape[0]
    parts = weights.values.astype("float32").reshape(blocks, n // blocks, m)
    if weights.zero is not None:
        parts = parts - weights.zero[:, None]
    return (parts * weights.scale[:, None]).reshape(n, m).astype(dtype)


def matmul(x: Any, weights: Quantized) -> Array:
    """``x @ w`` for weights of few bits: the integers are converted to the dtype of ``x`` as they are read,
    and
    each block's sum is multiplied by its scale.

    Args:
      x: an array ``(..., n)`` of floats. weights: a ``Quantized`` of shape ``(n, m)``.

    Returns:
      an array ``(..., m)`` of the dtype of ``x``; sums are float32. It is differentiable by ``x`` and the
      scales.

    Raises:
      TypeError: if the shapes do not fit.

    Example:
      >>> from rabbet.experimental import int4
      >>> int4.matmul(rnp.ones((1, 4)), int4.quantize(rnp.ones((4, 2))))
      Array([[4., 4.]], dtype=float32)
    """
    x = rnp.asarray(x)
    (n, m), blocks = weights.values.shape, weights.scale.shape[0]
    if not x.ndim or x.shape[-1] != n:
        raise TypeError(f"int4.matmul multiplies (..., n) by (n, m), got shapes {x.shape} and {(n, m)}")
    leading = x.shape[:-1]
    rows = x.reshape(-1, blocks, n // blocks)
    parts = weights.values.reshape(blocks, n // blocks, m).astype(x.dtype)
    numbers = (((2,), (1,)), ((1,), (0,)))  # a batch of products, one for each block: (blocks, rows, m)
    sums = lax.dot_general(rows, parts, numbers, preferred_element_type="float32")
    if weights.zero is not None:
        totals = rnp.sum(rows, axis=2, dtype="float32").T
        sums = sums - totals[:, :, None] * weights.zero[:, None]
    return rnp.sum(sums * weights.scale[:, None], axis=0).astype(x.dtype).reshape(*leading, m)


__all__ = ["Quantized", "dequantize", "matmul", "quantize"]
