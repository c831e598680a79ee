"""Trends."""

from collections.abc import Sequence
from typing import Any

import numpy as np

import rabbet.numpy as rnp
from rabbet import Array
from rabbet.extend.functions import fused
from rabbet.scipy.inputs import axis_of, inexact, one_of


@fused(static=("axis", "type", "bp", "overwrite_data"))
def detrend(
    data: Array,
    axis: int = -1,
    type: str = "linear",
    bp: int | Sequence[int] | np.ndarray = 0,
    overwrite_data: Any = None,
) -> Array:
    """Signals less their mean, or less the line through them that fits best.

    Args:
      data: an array. Integers become floats.
      axis: along which a signal goes.
      type: ``"constant"``: subtract the mean; ``"linear"``: the line of least squares.
      bp: where new pieces begin, each of which gets a line of its own.
      overwrite_data: not used.

    Returns:
      an array of the shape of ``data``.

    Raises:
      ValueError: for an unknown type, an axis out of range or a piece that begins outside the signal.

    Example:
      >>> print(np.asarray(detrend(rnp.array([1.0, 2.0, 3.0, 5.0]))).round(3) + 0.0)
      [ 0.2 -0.1 -0.4  0.3]
    """
    one_of("detrend", "type", type, ("linear", "constant", "l", "c"))
    (data,) = inexact("detrend", data)
    axis = axis_of("detrend", axis, data.ndim)
    if type[0] == "c":
        return data - rnp.mean(data, axis, keepdims=True)
    n = data.shape[axis]
    starts = np.unique(np.concatenate([[0], np.ravel(np.asarray(bp, "int64")), [n]]))
    if starts[0] < 0 or starts[-1] > n:
        raise ValueError(f"detrend: each bp must be from 0 to the length of the signal, {n}, got {bp}")
    x = rnp.moveaxis(data, axis, -1)
    pieces = [
        without_line(x[..., first:last])
        for first, last in zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True)
    ]
    return rnp.moveaxis(rnp.concatenate(pieces, -1) if pieces else x, -1, axis)


def without_line(x):
    """``x`` less the line of least squares along its last axis."""
    x = x - rnp.mean(x, -1, keepdims=True)
    t = np.arange(x.shape[-1]) - (x.shape[-1] - 1) / 2
    t = (t / max(np.linalg.norm(t), 1e-30)).astype(x.real.dtype)
    return x - rnp.sum(x * t, -1, keepdims=True) * t


__all__ = ["detrend"]
