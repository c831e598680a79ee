"""Scales for whole arrays: from the numbers at hand (current), or from those of earlier steps (delayed).

The recipes are those of Micikevicius et al., 2022, "FP8 formats for deep learning".
"""

from __future__ import annotations

from typing import Any, NamedTuple

import rabbet
import rabbet.numpy as rnp
from rabbet import Array, dtypes, lax
from rabbet.experimental.float8.rounding import saturate, stochastic_round


class Scaled(NamedTuple):
    """An array of few bits with its scale: ``values * scale`` is what it stands for. A pytree of two arrays.

    Args:
      values: the numbers, in a dtype of few bits.
      scale: a float32 array that broadcasts with them.

    Example:
      >>> from rabbet.experimental import float8
      >>> isinstance(float8.quantize(rnp.ones(2)), float8.Scaled)
      True
    """

    values: Any
    scale: Any


def scale_for(largest: Any, dtype: Any) -> Array:
    """The scale with which numbers up to ``largest`` fill a dtype: float32, 1 where there is nothing to
    scale.

    Args:
      largest: the largest size among the numbers, an array of any shape.
      dtype: a dtype of floats.

    Example:
      >>> from rabbet.experimental import float8
      >>> float(float8.scale_for(rnp.float32(896.0), "float8_e4m3fn"))
      2.0
    """
    largest = rnp.asarray(largest).astype("float32")
    # A scale below the normal numbers would be flushed to zero, and so would what is divided by it.
    scale = rnp.maximum(largest / dtypes.spec(dtype).largest, dtypes.spec("float32").limits.tiny)
    return rnp.where((largest > 0) & rnp.isfinite(largest), scale, rnp.float32(1))


def current_scale(x: Any, dtype: Any = "float8_e4m3fn", axis: Any = None) -> Array:
    """The scale of an array by its own largest number, over all of it or along ``axis`` (whose size becomes
    1).

    Example:
      >>> from rabbet.experimental import float8
      >>> float8.current_scale(rnp.array([1.0, -448.0]), rnp.float8_e4m3fn)
      Array(1., dtype=float32)
    """
    sizes = rnp.abs(rnp.asarray(x).astype("float32"))
    return scale_for(rnp.max(sizes, axis=axis, keepdims=axis is not None, initial=0.0), dtype)


def quantize(
    x: Any, dtype: Any = "float8_e4m3fn", scale: Any = None, *, axis: Any = None, key: Any = None,
) -> Scaled:  # fmt: skip
    """An array in few bits, with its scale.

    Args:
      x: an array of floats.
      dtype: the format.
      scale: to divide by; by default the current one, of the whole array or along ``axis``.
      axis: dimensions that share a scale, an int or a tuple.
      key: a key of ``rabbet.random``: round by chance (see ``stochastic_round``). Without one, to nearest.

    Returns:
      a ``Scaled``. Nothing of it is differentiated, since tangents of so few bits would be lost; see
      ``fake_quantize``.

    Example:
      >>> from rabbet.experimental import float8
      >>> q = float8.quantize(rnp.array([0.5, -2.0, 100.0]))
      >>> float8.dequantize(q)
      Array([  0.50223213,  -2.0089285 , 100.        ], dtype=float32)
    """
    x = lax.stop_gradient(rnp.asarray(x))
    scale = lax.stop_gradient(current_scale(x, dtype, axis) if scale is None else rnp.asarray(scale))
    divided = x.astype("float32") / scale
    if key is not None:
        return Scaled(stochastic_round(divided, dtype, key), scale)
    return Scaled(saturate(divided, dtype), scale)


def dequantize(scaled: Scaled, dtype: Any = "float32") -> Array:
    """The numbers that a ``Scaled`` stands for, in ``dtype``.

    Example:
      >>> from rabbet.experimental import float8
      >>> float8.dequantize(float8.quantize(rnp.array([1.0, -2.0])))
      Array([ 1., -2.], dtype=float32)
    """
    return (scaled.values.astype("float32") * scaled.scale).astype(dtype)


@rabbet.custom_rules
def _as_if_exact(x, rounded):
    """``rounded``, with the derivative of ``x``."""
    return rounded


@_as_if_exact.def_rule("jvp")
def _as_if_exact_jvp(primals, tangents):
    return _as_if_exact(*primals), tangents[0]


def fake_quantize(
    x: Any, dtype: Any = "float8_e4m3fn", scale: Any = None, *, axis: Any = None, key: Any = None,
) -> Array:  # fmt: skip
    """The numbers that ``quantize`` keeps of ``x``, in the dtype of ``x``, with the derivative of ``x``
    itself (the
    straight-through estimator of Bengio et al., 2013): for training what will be quantized later.

    Args:
      x, dtype, scale, axis, key: as for ``quantize``.

    Returns:
      an array like ``x``.

    Example:
      >>> from rabbet.experimental import float8
      >>> rb.grad(lambda x: float8.fake_quantize(x).sum())(rnp.array([0.1, 0.2])).tolist()
      [1.0, 1.0]
    """
    x = rnp.asarray(x)
    small = quantize(x, dtype, scale, axis=axis, key=key)
    return _as_if_exact(x, lax.stop_gradient(dequantize(small, x.dtype)))


class DelayedScaling(NamedTuple):
    """The largest sizes of an array in the last steps, from which its scale is known before the array is: a
    state
    that a training loop carries beside its parameters.

    Args:
      history: a float32 array of shape ``(steps,)``, the latest first.

    Example:
      >>> from rabbet.experimental import float8
      >>> state = float8.DelayedScaling.of(steps=4)
      >>> small, state = state.quantize(rnp.array([1.0, -2.0]))
      >>> state.history.tolist(), float(small.scale), float(state.scale())
      ([2.0, 0.0, 0.0, 0.0], 1.0, 0.004464285913854837)
    """

    history: Any

    @classmethod
    def of(cls, steps=16):
        """A state that has seen nothing: its scale is 1."""
        return cls(rnp.zeros((steps,), "float32"))

    def scale(self, dtype="float8_e4m3fn"):
        """The scale for the largest number of all steps that are remembered."""
        return scale_for(rnp.max(self.history), dtype)

    def seen(self, x):
        """The state after a step with the array ``x``; a step with infinities or NaN is not remembered."""
        largest = rnp.max(rnp.abs(lax.stop_gradient(rnp.asarray(x)).astype("float32")), initial=0.0)
        largest = rnp.where(rnp.isfinite(largest), largest, self.history[0])
        return DelayedScaling(rnp.concatenate([largest[None], self.history[:-1]]))

    def quantize(self, x, dtype="float8_e4m3fn", *, key=None):
        """``(Scaled, state)``: the array by the scale of the steps before, and the state that has seen it."""
        return quantize(x, dtype, self.scale(dtype), key=key), self.seen(x)


__all__ = [
    "DelayedScaling",
    "Scaled",
    "current_scale",
    "dequantize",
    "fake_quantize",
    "quantize",
    "scale_for",
]
