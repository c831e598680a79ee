"""Inputs for rows: how to draw an array of a dtype that is not known yet."""

from typing import Any, NamedTuple

import numpy as np

from rabbet import dtypes
from rabbet.extend.functions import to_array


class Draw(NamedTuple):
    """An array to be drawn: numbers between ``low`` and ``high`` (both parts of complex ones), of ``dtype``
    or else of the row's.

    ``values``, where given, are the only ones to choose from.
    """

    low: float
    high: float
    shape: tuple
    dtype: Any = None
    values: tuple | None = None

    def __call__(self, rng, dtype):
        dtype = np.dtype(dtypes.canonicalize(self.dtype if self.dtype is not None else dtype))
        kind = dtypes.kind(dtype)
        if self.values is not None:
            return dtypes.host_cast(rng.choice(np.asarray(self.values), self.shape), dtype)
        if kind == "b":
            return rng.integers(0, 2, self.shape).astype(bool)
        if kind in "iu":
            low = max(self.low, 0) if kind == "u" else self.low
            return rng.integers(int(np.ceil(low)), int(np.floor(self.high)) + 1, self.shape).astype(dtype)
        numbers = rng.uniform(self.low, self.high, self.shape)
        if kind == "c":
            numbers = numbers + 1j * rng.uniform(self.low, self.high, self.shape)
        return dtypes.host_cast(np.asarray(numbers), dtype)


def between(low, high, *shape, dtype=None):
    """Numbers between two bounds; of shape ``(2, 3)`` if none is given."""
    return Draw(low, high, shape or (2, 3), dtype)


def some(*shape, dtype=None):
    """Numbers of both signs and moderate size; of shape ``(2, 3)`` if none is given."""
    return between(-3.0, 3.0, *shape, dtype=dtype)


def scalar(low=-3.0, high=3.0, dtype=None):
    """One number, of shape ``()``."""
    return Draw(low, high, (), dtype)


def among(values, *shape, dtype=None):
    """Numbers from a few values, so that there are ties; of shape ``(2, 3)`` if none is given."""
    return Draw(0, 0, shape or (2, 3), dtype, tuple(values))


def device_array(host):
    """A NumPy array as an ``Array`` of exactly its dtype; nothing is narrowed."""
    host = np.asarray(host)
    return to_array(host, dtype=host.dtype)


def floats(*values):
    """A float32 array of the numbers given."""
    return device_array(np.array(values, np.float32))


class Matrices(NamedTuple):
    """Square matrices to be drawn: random ones plus ``n`` times the identity, which are well-conditioned.

    With ``definite`` they are Hermitian and positive definite.
    """

    shape: tuple
    definite: bool = False

    def __call__(self, rng, dtype):
        numbers = some(*self.shape)(rng, dtype)
        kind = np.complex128 if dtypes.kind(numbers.dtype) == "c" else np.float64
        wide = dtypes.host_cast(numbers, np.dtype(kind))
        if self.definite:
            wide = wide @ np.conj(np.swapaxes(wide, -1, -2))
        return dtypes.host_cast(wide + self.shape[-1] * np.eye(self.shape[-1]), numbers.dtype)


def definite(*shape):
    """Hermitian positive definite matrices."""
    return Matrices(shape, True)


def regular(*shape):
    """Matrices that are well-conditioned, and so are their triangles and three diagonals."""
    return Matrices(shape)
