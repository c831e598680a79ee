"""Attention by scaled dot products."""

from typing import Any

import rabbet.numpy as rnp
from rabbet import dtypes, lax
from rabbet.extend.functions import fused
from rabbet.nn.normalizing import softmax

STATIC = ("is_causal", "scale", "local_window_size", "implementation", "return_residual")


@fused(static=STATIC)
def dot_product_attention(
    query, key, value, bias=None, mask=None, *, scale=None, is_causal=False, query_seq_lengths=None,
    key_value_seq_lengths=None, local_window_size=None, implementation=None, return_residual=False,
):  # fmt: skip
    """Attention: for each query the mean of the values, weighted by the softmax of its scaled products with
    the keys.

    Args:
      query: ``(batch, time, heads, size)``, or without the batch dimension.
      key, value: ``(batch, other time, key heads, size)``; the number of query heads is a multiple of that
        of key heads.
      bias: added to the products; broadcasts to ``(batch, heads, time, other time)``.
      mask: booleans, likewise: which products count.
      scale: a factor of the products, by default ``size ** -0.5``.
      is_causal: whether a query sees only keys that are not later than itself.
      query_seq_lengths, key_value_seq_lengths: ``(batch,)``: how many of the queries and keys count.
      local_window_size: an int or a pair: how many keys before and after itself a query sees.
      implementation: None or ``"xla"``.

    Returns:
      an array like ``query``.

    Raises:
      ValueError: for shapes that do not fit.
    """
    if implementation not in (None, "xla") or return_residual:
        raise NotImplementedError(
            "dot_product_attention: implementation must be None or 'xla', without residuals"
        )
    single = query.ndim == 3
    if single:
        query, key, value = query[None], key[None], value[None]
    check(query, key, value)
    batch, time, heads, size = query.shape
    other, key_heads = key.shape[1:3]
    group = heads // key_heads
    grouped = lax.reshape(query, (batch, time, key_heads, group, size))
    scores = rnp.einsum("btkgd,bskd->bkgts", grouped, key, preferred_element_type=accumulator(query.dtype))
    scores = scores * (size**-0.5 if scale is None else scale)
    if bias is not None:
        scores = scores + by_group(bias, batch, key_heads, group)
    allowed = allowed_pairs(time, other, is_causal, local_window_size)
    if mask is not None:
        allowed = both(allowed, by_group(mask, batch, key_heads, group))
    if query_seq_lengths is not None:
        rows = rnp.arange(time)[None] < rnp.asarray(query_seq_lengths)[:, None]
        allowed = both(allowed, rows[:, None, None, :, None])
    if key_value_seq_lengths is not None:
        columns = rnp.arange(other)[None] < rnp.asarray(key_value_seq_lengths)[:, None]
        allowed = both(allowed, columns[:, None, None, None, :])
    if allowed is not None:
        scores = rnp.where(allowed, scores, 0.7 * float(dtypes.finfo(scores.dtype).min))
    weights = lax.convert_element_type(softmax(scores), value.dtype)
    out = lax.reshape(rnp.einsum("bkgts,bskd->btkgd", weights, value), (batch, time, heads, value.shape[-1]))
    if query_seq_lengths is not None:
        out = rnp.where(rows[:, :, None, None], out, 0)
    return out[0] if single else out


def check(query, key, value):
    """Refuse shapes that do not fit together."""
    shown = f"query {query.shape}, key {key.shape}, value {value.shape}"
    if not query.ndim == key.ndim == value.ndim == 4:
        raise ValueError(f"dot_product_attention takes arrays of 3 or 4 dimensions, all alike; got {shown}")
    if key.shape[:3] != value.shape[:3] or query.shape[0] != key.shape[0] or query.shape[3] != key.shape[3]:
        raise ValueError(
            f"dot_product_attention: batch, time and sizes of keys and values must agree; got {shown}"
        )
    if query.shape[2] % key.shape[2]:
        raise ValueError(f"dot_product_attention: query heads must be a multiple of key heads; got {shown}")


def accumulator(dtype):
    """The dtype of products: single precision for half."""
    return "float32" if dtypes.itemsize_bits(dtype) < 32 else None


def by_group(x, batch, key_heads, group):
    """``(batch, heads, time, other)`` as ``(batch, key heads, group, time, other)``; size 1 stays."""
    x = rnp.asarray(x)
    if x.ndim < 4:
        x = lax.expand_dims(x, tuple(range(4 - x.ndim)))
    heads = (1, 1) if x.shape[1] == 1 else (key_heads, group)
    return lax.reshape(x, (x.shape[0], *heads, *x.shape[2:]))


def both(a, b):
    """The conjunction of two masks, either of which may be None."""
    return b if a is None else rnp.logical_and(a, b)


def allowed_pairs(time, other, is_causal, window):
    """Which keys each query sees by position alone, or None for all."""
    if not is_causal and window is None:
        return None
    distance = rnp.arange(other)[None] - rnp.arange(time)[:, None]
    allowed: Any = distance <= 0 if is_causal else None
    if window is not None:
        before, after = window if isinstance(window, tuple) else (window, window)
        allowed = both(allowed, rnp.logical_and(distance >= -before, distance <= after))
    return allowed[None, None, None]


__all__ = ["dot_product_attention"]
