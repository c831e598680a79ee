"""From 64 bits to 32 without losing values unseen.

NumPy's 64-bit values become 32-bit arrays where no dtype was asked for. An integer that does not fit is an
error, a float that becomes infinite a warning; rounding to the narrower format is what was to be expected.
`config.check_narrowing` turns both off.
"""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np

from rabbet.config import config
from rabbet.dtypes import host_formats
from rabbet.dtypes.process_table import table
from rabbet.messages.source_positions import stacklevel


def narrowed(host: np.ndarray, dtype: Any) -> np.ndarray:
    """The NumPy array `host` as `dtype`, which nobody asked for.

    Raises:
      OverflowError: for an integer that does not fit; names the first one.
    """
    if dtype.kind == "V" and dtype.names:
        return host_formats.cast(host, dtype, table.rows)
    if not config.check_narrowing:
        with np.errstate(all="ignore"):
            return _as_type(host, dtype)
    kind = table.kind(dtype)
    if host.dtype.kind in "iu" and kind in "iu":
        return _narrowed_integers(host, dtype)
    if host.dtype.kind in "fc" and kind in "fc" and dtype.itemsize < host.dtype.itemsize:
        return _narrowed_floats(host, dtype)
    return host.astype(dtype)


# Elements that are converted and looked at while the processor has them at hand, where they are more than
# its caches hold.
BLOCK, CACHED = 32768, 1 << 20
# Where a device shares memory of the host it has to begin at a multiple of this; what is smaller is copied
# sooner than it is aligned.
ALIGNMENT, LARGE = 64, 1 << 15


def _empty(shape: Any, dtype: Any) -> np.ndarray:
    """An array for values to come, in memory that a device can share."""
    size = math.prod(shape) * dtype.itemsize
    if size < LARGE:
        return np.empty(shape, dtype)
    room = np.empty(size + ALIGNMENT, np.uint8)
    start = -room.ctypes.data % ALIGNMENT
    return room[start : start + size].view(dtype).reshape(shape)


def _as_type(host: np.ndarray, dtype: Any) -> np.ndarray:
    out = _empty(host.shape, dtype)
    np.copyto(out, host, casting="unsafe")
    return out


# Of integers of this machine's byte order: the same bits as unsigned numbers, and the largest of each dtype.
_UNSIGNED = {np.dtype(f"{kind}{n}"): np.dtype(f"u{n}") for kind in "iu" for n in (1, 2, 4, 8)}
_LARGEST = {dtype: np.iinfo(dtype).max for dtype in _UNSIGNED}
_largest_of: Any = np.maximum.reduce


def _narrowed_integers(host: np.ndarray, dtype: Any) -> np.ndarray:
    bits, largest = _UNSIGNED.get(host.dtype), _LARGEST.get(dtype)
    if bits is None or largest is None or not host.size or not host.flags.c_contiguous:
        _refuse_what_does_not_fit(host, dtype)
        return _as_type(host, dtype)
    if host.size <= CACHED:
        # Among numbers without a sign all negative ones are large: one comparison where there are none.
        if _largest_of(host.view(bits), None) > largest:
            _refuse_what_does_not_fit(host, dtype)
        return _as_type(host, dtype)
    out, flat = _empty(host.shape, dtype), host.reshape(-1)
    into, negative = out.reshape(-1), False
    for start in range(0, flat.size, BLOCK):
        block = flat[start : start + BLOCK]
        into[start : start + BLOCK] = block  # first: the fetching ahead from memory is not interrupted then
        if negative or _largest_of(block.view(bits)) > largest:
            _refuse_what_does_not_fit(block, dtype)
            negative = True  # and so will others be
    return out


def _refuse_what_does_not_fit(host: np.ndarray, dtype: Any) -> None:
    bounds = table.iinfo(dtype)
    if host.size and (host.max() > bounds.max or host.min() < bounds.min):
        outside = host[(host > bounds.max) | (host < bounds.min)] if host.ndim else host.reshape(1)
        wide = host.dtype.name
        raise OverflowError(
            f"the {wide} {outside[0]} does not fit {dtype}, which NumPy's 64-bit integers become where no "
            f"dtype is asked for\n  to fix: rnp.asarray(x, dtype='{wide}') keeps 64 bits, "
            f"x.astype('{dtype}') cuts them off as NumPy does, and RABBET_CHECK_NARROWING=0 turns this off"
        )


def _narrowed_floats(host: np.ndarray, dtype: Any) -> np.ndarray:
    try:
        with np.errstate(over="raise"):
            return _as_type(host, dtype)
    except FloatingPointError:
        pass
    with np.errstate(over="ignore"):
        out = host.astype(dtype)
    lost = host[np.isinf(out) & ~np.isinf(host)] if host.ndim else host.reshape(1)
    warnings.warn(
        f"the {host.dtype} {lost[0]} is infinite in {dtype}, which NumPy's 64-bit floats become where no "
        f"dtype is asked for; rnp.asarray(x, dtype='{host.dtype}') keeps 64 bits, and "
        "RABBET_CHECK_NARROWING=0 turns this off",
        RuntimeWarning,
        stacklevel=stacklevel(),
    )
    return out


def refuse_masked(x: Any) -> None:
    """Raise ValueError for a masked array of NumPy, whose mask would be lost."""
    if hasattr(x, "_mask") and hasattr(x, "filled"):
        raise ValueError(
            f"a masked array of NumPy, shape {x.shape}, would lose its mask\n  to fix: x.filled(value) gives "
            "an ordinary array, and rnp.where(mask, ...) does what the mask would"
        )
