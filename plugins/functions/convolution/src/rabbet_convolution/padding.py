"""Padding and other sizes of windows as callers write them: words, pairs, or nothing."""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING

from rabbet.errors import ShapeError

from rabbet_convolution.primitives import windows

if TYPE_CHECKING:
    from typing import Any

    from rabbet.typing import Value


class PaddingType(enum.Enum):
    """How ``padtype_to_pads`` pads: not at all, or so that only strides shrink an array.

    Example:
      >>> lax.padtype_to_pads((5,), (3,), (1,), lax.PaddingType.SAME)
      [(1, 1)]
    """

    VALID = 1
    SAME = 2
    SAME_LOWER = 3


def padtype_to_pads(in_shape: Any, window_shape: Any, window_strides: Any, padding: Any) -> Value:
    """The pairs ``(low, high)`` that ``"VALID"``, ``"SAME"`` or ``"SAME_LOWER"`` stands for.

    Args:
      in_shape, window_shape, window_strides: ints, one per dimension.
      padding: ``"VALID"`` for none; ``"SAME"`` for results of the size ``ceil(size / stride)``, an odd
        element being put after the array, with ``"SAME_LOWER"`` before it.

    Raises:
      RuntimeError: for another string.
      TypeError: for anything that is not a string.

    Example:
      >>> lax.padtype_to_pads((8,), (3,), (2,), "SAME")
      [(0, 1)]
    """
    if isinstance(padding, str):
        if padding.upper() not in PaddingType.__members__:
            raise RuntimeError(
                f"unknown padding {padding!r}; use 'VALID', 'SAME', 'SAME_LOWER' or pairs (low, high)"
            )
        padding = PaddingType[padding.upper()]
    if not isinstance(padding, PaddingType):
        raise ShapeError(f"padding must be 'VALID', 'SAME' or 'SAME_LOWER', got {padding!r}")
    if padding is PaddingType.VALID:
        return [(0, 0)] * len(in_shape)
    if not len(in_shape) == len(window_shape) == len(window_strides):
        raise ShapeError(
            f"padding {padding.name!r} needs one size of the window and one stride per dimension, got the "
            f"window {tuple(window_shape)} and the strides {tuple(window_strides)} for {tuple(in_shape)}"
        )
    pads = []
    for n, w, s in zip(in_shape, window_shape, window_strides, strict=True):
        total = max((-(-int(n) // int(s)) - 1) * int(s) + int(w) - int(n), 0)
        low = total // 2 if padding is PaddingType.SAME else total - total // 2
        pads.append((low, total - low))
    return pads


def int_tuple(what, values, ndim, default=1):
    """``values`` as ``ndim`` ints; all ``default`` if they are None."""
    if values is None:
        return (default,) * ndim
    try:
        return tuple([v.__index__() for v in values])
    except (AttributeError, TypeError):
        raise ShapeError(f"{what} must be ints, one per dimension, got {values!r}") from None


def padding_pairs(padding, sizes, window, strides, base_dilation, window_dilation):
    """Padding as a tuple of pairs, whether it is given as a string or as pairs."""
    if isinstance(padding, (str, PaddingType)):
        if min(strides, default=1) < 1:
            raise ShapeError(f"window_strides {tuple(strides)} must be positive")
        lengths = [len(window), len(strides), len(base_dilation), len(window_dilation)]
        if any(n != len(sizes) for n in lengths):
            raise ShapeError(
                "the sizes of the window, strides, base_dilation and window_dilation are of the lengths "
                f"{lengths}; give one per dimension, {len(sizes)}"
            )
        spread = [windows.spread(n, d) for n, d in zip(sizes, base_dilation, strict=True)]
        extent = [windows.spread(w, d) for w, d in zip(window, window_dilation, strict=True)]
        return tuple(padtype_to_pads(spread, extent, strides, padding))
    try:
        return tuple([(low.__index__(), high.__index__()) for low, high in padding])
    except (AttributeError, TypeError, ValueError):
        raise ShapeError(
            f"padding must be 'VALID', 'SAME', 'SAME_LOWER' or a pair (low, high) of ints per dimension, "
            f"got {padding!r}"
        ) from None


__all__ = ["PaddingType", "int_tuple", "padding_pairs", "padtype_to_pads"]
