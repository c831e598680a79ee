"""The same bytes as another dtype: ``x.view(dtype)`` and ``x.byteswap()``, for arrays and tracers."""

from __future__ import annotations

from typing import Any

import numpy as np

from rabbet import dtypes
from rabbet.lax import shapes
from rabbet.lax.array_types import ArrayLike, ArrayOrTracer, DTypeLike
from rabbet.lax.values import bitcast_convert_type, convert_element_type
from rabbet.primitives import complex_parts, logic
from rabbet.program.avals import ShapedArray

BYTE = np.dtype("uint8")


def part_of(dtype: DTypeLike) -> np.dtype:
    """The dtype of the parts of a complex dtype."""
    return np.dtype(f"float{4 * dtype.itemsize}")


def view(self: Any, dtype: DTypeLike = None, type: DTypeLike = None) -> ArrayOrTracer:
    """The bytes of the array read as another dtype, as in NumPy: the last dimension grows or shrinks where
    the sizes of the elements differ. Booleans are bytes, of which any that is not zero is True.

    Args:
      dtype: None: the array itself.
      type: None.

    Raises:
      ValueError: if the last dimension does not divide, or there is none to change.
    """
    if type is not None:
        raise NotImplementedError("view: an array has no other class to be viewed as; leave out type")
    if dtype is None:
        return self
    dtype = dtypes.canonicalize(dtype)
    have = self.aval.dtype
    if isinstance(have, dtypes.ExtendedDType) or isinstance(dtype, dtypes.ExtendedDType):
        raise TypeError(f"view: an array of {have} cannot be viewed as {dtype}; for keys see random.key_data")
    if have == dtype:
        return convert_element_type(self, dtype)
    if not self.aval.ndim and dtypes.itemsize_bits(have) != dtypes.itemsize_bits(dtype):
        raise ValueError(
            f"view: {self.aval.str_short()} has no dimension to change, and {dtype.name} has another size"
        )
    plain = to_plain(self)
    target = BYTE if dtype == np.bool_ else part_of(dtype) if dtypes.kind(dtype) == "c" else dtype
    if dtypes.kind(dtype) == "c":
        return pairs(resized(plain, target, self.aval, dtype), self.aval, dtype)
    out = resized(plain, target, self.aval, dtype)
    if dtype == np.bool_:
        return logic.ne(out, 0)
    return out if self.aval.ndim or not out.ndim else shapes.reshape(out, ())


def to_plain(x: ArrayLike) -> ArrayOrTracer:
    """The array with booleans as bytes and complex numbers as pairs of floats, along the last dimension."""
    kind = dtypes.kind(x.aval.dtype)
    if kind == "b":
        return convert_element_type(x, BYTE)
    if kind != "c":
        return x
    parts = shapes.stack([complex_parts.real(x), complex_parts.imag(x)], axis=x.aval.ndim)
    return shapes.reshape(parts, (*x.aval.shape[:-1], 2 * x.aval.shape[-1]) if x.aval.ndim else (2,))


def pairs(x: ArrayLike, aval: ShapedArray, dtype: DTypeLike) -> ArrayOrTracer:
    """Pairs of floats along the last dimension as complex numbers."""
    if x.shape[-1] % 2:
        raise does_not_divide(aval, dtype)
    parts = shapes.reshape(x, (*x.shape[:-1], x.shape[-1] // 2, 2))
    real, imag = shapes.unstack(parts, axis=parts.ndim - 1)
    out = complex_parts.complex(real, imag)
    return out if aval.ndim else shapes.reshape(out, ())


def resized(x: ArrayLike, dtype: DTypeLike, aval: ShapedArray, wanted: Any) -> ArrayOrTracer:
    """Numbers as other numbers of the same bits."""
    have, want = dtypes.itemsize_bits(x.dtype), dtypes.itemsize_bits(dtype)
    if have == want:
        return bitcast_convert_type(x, dtype)
    if have > want:
        out = bitcast_convert_type(x, dtype)
        lead = out.shape[:-2] if out.ndim > 1 else ()
        last = out.shape[-2] * out.shape[-1] if out.ndim > 1 else out.shape[-1]
        return shapes.reshape(out, (*lead, last))
    count = want // have
    if not x.ndim or x.shape[-1] % count:
        raise does_not_divide(aval, wanted)
    grouped = shapes.reshape(x, (*x.shape[:-1], x.shape[-1] // count, count))
    return bitcast_convert_type(grouped, dtype)


def does_not_divide(aval: ShapedArray, dtype: DTypeLike) -> ValueError:
    """The error for a last dimension whose bytes make no whole number of elements."""
    return ValueError(
        f"view: the last dimension of {aval.str_short()} does not divide into elements of {dtype.name}"
    )


def byteswap(self: Any) -> ArrayOrTracer:
    """The array with the bytes of each number in the opposite order, in the same dtype."""
    aval = self.aval
    if isinstance(aval.dtype, dtypes.ExtendedDType):
        raise TypeError(f"byteswap: an array of {aval.dtype} holds no numbers")
    if dtypes.kind(aval.dtype) == "c":
        return complex_parts.complex(byteswap(complex_parts.real(self)), byteswap(complex_parts.imag(self)))
    if dtypes.itemsize_bits(aval.dtype) <= 8:
        return self
    octets = bitcast_convert_type(convert_element_type(self, aval.dtype), BYTE)
    return bitcast_convert_type(shapes.rev(octets, (octets.ndim - 1,)), aval.dtype)


def flat(self: Any) -> ArrayOrTracer:
    """The elements in row-major order, as an array of one dimension."""
    return shapes.reshape(self, (self.aval.size,))


__all__ = ["byteswap", "flat", "view"]
