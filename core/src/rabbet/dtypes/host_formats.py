"""Numbers on the host in formats that neither NumPy nor compilers know: those of rows with ``encode`` and
``decode``.

NumPy holds such numbers as elements without a meaning, of a dtype that is named after the format; every
conversion goes through the row's own two programs, which run compiled. What a format of up to 16 bits can
decode is kept as a table.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, cached_property
from typing import Any

import numpy as np

TABLE_BITS = 16  # formats up to here are decoded by a table of all their numbers

evaluate: Any = None


def evaluate_with(function: Callable[..., Any]) -> None:
    """Name who runs a function of one array on a NumPy array. Called once, by composition."""
    global evaluate
    evaluate = function


def own_format(dtype: Any, rows: Any) -> Any:
    """The row of a NumPy dtype with an ``encode`` and a ``decode`` of its own, else None."""
    spec = rows.get(dtype) if type(dtype) is np.dtypes.VoidDType else None
    return spec if spec is not None and spec.decode is not None else None


def cast(host: np.ndarray, dtype: Any, rows: Any) -> np.ndarray:
    """A NumPy array in another dtype; see ``dtypes.host_cast``."""
    if host.dtype == dtype:
        return host
    source, target = own_format(host.dtype, rows), own_format(dtype, rows)
    if source is not None:
        host = decoded(source, host)
    return host.astype(dtype) if target is None else encoded(target, host)


def run(function: Any, host: np.ndarray, what: str) -> np.ndarray:
    """A function of arrays on a NumPy array of any shape. Few sizes are compiled: the next power of two."""
    size = max(8, 1 << (host.size - 1).bit_length()) if host.size else 8
    padded = np.zeros(size, host.dtype)
    padded[: host.size] = host.reshape(-1)
    out = evaluate(function, padded, what)
    return out[: host.size].reshape(host.shape)


def decoded(spec: Any, host: np.ndarray) -> np.ndarray:
    """The numbers, in the dtype that the format computes in, of elements of the format."""
    codes = np.ascontiguousarray(host).reshape(host.shape).view(spec.codes)
    if 8 * codes.dtype.itemsize <= TABLE_BITS:
        return numbers(spec)[codes.view(f"uint{8 * codes.dtype.itemsize}")]
    return run(spec.decode, codes, f"decode of {spec.name}")


def encoded(spec: Any, host: np.ndarray) -> np.ndarray:
    """Elements of a format next to numbers, as its ``encode`` rounds them."""
    with np.errstate(all="ignore"):
        wide = np.asarray(host.real if np.iscomplexobj(host) else host).astype(spec.compute)
    return np.asarray(run(spec.encode, wide, f"encode of {spec.name}"), spec.codes).view(spec.dtype)


@cache
def numbers(spec: Any) -> np.ndarray:
    """All numbers of a format, by their codes as unsigned numbers."""
    bits = 8 * np.dtype(spec.codes).itemsize
    every = np.arange(2**bits, dtype=f"uint{bits}")
    return run(spec.decode, every.view(spec.codes), f"decode of {spec.name}")


class Limits:
    """The limits of a format, from all of its numbers: what ``finfo`` answers where the row gives none."""

    def __init__(self, spec: Any) -> None:
        self.dtype, self.bits = spec.dtype, spec.bits or 8 * np.dtype(spec.codes).itemsize
        self._spec = spec

    @cached_property
    def _finite(self) -> np.ndarray:
        every = np.unique(numbers(self._spec).astype(np.float64))
        return every[np.isfinite(every)]

    max = property(lambda self: float(self._finite[-1]), doc="The largest number.")
    min = property(lambda self: float(self._finite[0]), doc="The number furthest below zero.")

    @property
    def tiny(self) -> float:
        """The smallest number above zero."""
        return float(self._finite[self._finite > 0][0])

    smallest_normal = smallest_subnormal = tiny

    @property
    def eps(self) -> float:
        """The distance from 1 to the next larger number."""
        return float(self._finite[self._finite > 1][0]) - 1.0

    def __repr__(self) -> str:
        ends = f"max={self.max}, min={self.min}, eps={self.eps}, tiny={self.tiny}"
        return f"finfo({ends}, dtype={self._spec.name})"
