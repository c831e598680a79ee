"""Products of arrays in 8 bits, forward and backward."""

from __future__ import annotations

from typing import Any

import rabbet
from rabbet import Array, lax
from rabbet.experimental.float8.scaling import quantize

FORWARD, BACKWARD = "float8_e4m3fn", "float8_e5m2"


def scaled_product(a, b, numbers):
    """``dot_general`` of two ``Scaled`` arrays with one scale each, in float32."""
    out = lax.dot_general(a.values, b.values, numbers, preferred_element_type="float32")
    return out * (a.scale * b.scale)


def make_dot(forward, backward):
    """``x @ w`` for these formats; one function for each pair of them."""

    @rabbet.custom_rules
    def dot(x, w):
        return scaled_product(quantize(x, forward), quantize(w, forward), last_with_first(x)).astype(x.dtype)

    @dot.def_rule("vjp")
    def dot_vjp(x, w):
        small_x, small_w = quantize(x, forward), quantize(w, forward)
        out = scaled_product(small_x, small_w, last_with_first(x)).astype(x.dtype)

        def pull(ct):
            small = quantize(ct, backward)
            leading = tuple(range(ct.ndim - 1))
            to_x = scaled_product(small, small_w, (((ct.ndim - 1,), (1,)), ((), ())))
            to_w = scaled_product(small_x, small, ((leading, leading), ((), ())))
            return to_x.astype(x.dtype), to_w.astype(w.dtype)

        return out, pull

    return dot


def last_with_first(x):
    """The dimension numbers of ``x @ w``."""
    return (((x.ndim - 1,), (0,)), ((), ()))


_made = {}


def dot(x: Any, w: Any, forward: Any = FORWARD, backward: Any = BACKWARD) -> Array:
    """``x @ w`` with both factors in 8 bits, and both products of its derivative too.

    Each array has one scale, by its largest number. Values and weights are ``forward``, cotangents
    ``backward``, which has more range and less precision; sums are float32.

    Args:
      x: an array ``(..., n)`` of floats. w: a matrix ``(n, m)``.
      forward, backward: dtypes of floats of at most 8 bits.

    Returns:
      an array ``(..., m)`` of the dtype of ``x``.

    Raises:
      TypeError: if the shapes do not fit.

    Example:
      >>> import rabbet.numpy as rnp
      >>> from rabbet.experimental import float8
      >>> float8.dot(rnp.array([[1.0, 2.0]]), rnp.array([[3.0], [4.0]])).tolist()
      [[10.85714340209961]]
    """
    x, w = map(_array, (x, w))
    if w.ndim != 2 or not x.ndim or x.shape[-1] != w.shape[0]:
        raise TypeError(f"float8.dot multiplies (..., n) by (n, m), got shapes {x.shape} and {w.shape}")
    if (forward, backward) not in _made:
        _made[forward, backward] = make_dot(forward, backward)
    return _made[forward, backward](x, w)


def _array(x):
    import rabbet.numpy as rnp

    return rnp.asarray(x)


__all__ = ["dot"]
