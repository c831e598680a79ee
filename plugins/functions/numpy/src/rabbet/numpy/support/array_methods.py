"""What the methods of arrays are that core asks for: functions of ``rabbet.numpy``, and those that it has not
itself, ``x.view(dtype)``, ``x.byteswap()`` and ``x.__array_namespace__()``.
"""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

import rabbet.numpy
from rabbet import config, dtypes, lax
from rabbet.errors import DTypeError
from rabbet.extend.functions import folded
from rabbet.extend.primitive import ShapedArray
from rabbet.numpy.support.array_api import __array_api_version__
from rabbet.numpy.support.notebook_tables import notebook_table

BYTE = np.dtype("uint8")


def part_of(dtype: Any) -> np.dtype:
    """The dtype of the parts of a complex dtype."""
    return np.dtype(f"float{4 * dtype.itemsize}")


@folded
def view(self: Any, dtype: Any = None, type: Any = None) -> Any:
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
    dtype = dtypes.requested(dtype)
    have = self.aval.dtype
    if isinstance(have, dtypes.ExtendedDType) or isinstance(dtype, dtypes.ExtendedDType):
        raise TypeError(f"view: an array of {have} cannot be viewed as {dtype}; for keys see random.key_data")
    if have == dtype:
        return lax.convert_element_type(self, dtype)
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
        return lax.ne(out, 0)
    return out if self.aval.ndim or not out.ndim else lax.reshape(out, ())


def to_plain(x: Any) -> Any:
    """The array with booleans as bytes and complex numbers as pairs of floats, along the last dimension."""
    kind = dtypes.kind(x.aval.dtype)
    if kind == "b":
        return lax.convert_element_type(x, BYTE)
    if kind != "c":
        return x
    parts = lax.stack([lax.real(x), lax.imag(x)], axis=x.aval.ndim)
    return lax.reshape(parts, (*x.aval.shape[:-1], 2 * x.aval.shape[-1]) if x.aval.ndim else (2,))


def pairs(x: Any, aval: ShapedArray, dtype: Any) -> Any:
    """Pairs of floats along the last dimension as complex numbers."""
    if x.shape[-1] % 2:
        raise does_not_divide(aval, dtype)
    parts = lax.reshape(x, (*x.shape[:-1], x.shape[-1] // 2, 2))
    real, imag = lax.unstack(parts, axis=parts.ndim - 1)
    out = lax.complex(real, imag)
    return out if aval.ndim else lax.reshape(out, ())


def resized(x: Any, dtype: Any, aval: ShapedArray, wanted: Any) -> Any:
    """Numbers as other numbers of the same bits."""
    have, want = dtypes.itemsize_bits(x.dtype), dtypes.itemsize_bits(dtype)
    if have == want:  # parts of complex numbers are numbers already, and have derivatives
        return x if x.dtype == dtype else lax.bitcast_convert_type(x, dtype)
    if have > want:
        out = lax.bitcast_convert_type(x, dtype)
        lead = out.shape[:-2] if out.ndim > 1 else ()
        last = out.shape[-2] * out.shape[-1] if out.ndim > 1 else out.shape[-1]
        return lax.reshape(out, (*lead, last))
    count = want // have
    if not x.ndim or x.shape[-1] % count:
        raise does_not_divide(aval, wanted)
    grouped = lax.reshape(x, (*x.shape[:-1], x.shape[-1] // count, count))
    return lax.bitcast_convert_type(grouped, dtype)


def does_not_divide(aval: ShapedArray, dtype: Any) -> ValueError:
    """The error for a last dimension whose bytes make no whole number of elements."""
    return ValueError(
        f"view: the last dimension of {aval.str_short()} does not divide into elements of {dtype.name}"
    )


@folded
def byteswap(self: Any) -> Any:
    """The array with the bytes of each number in the opposite order, in the same dtype."""
    aval = self.aval
    if isinstance(aval.dtype, dtypes.ExtendedDType):
        raise DTypeError(f"byteswap: an array of {aval.dtype} holds no numbers")
    if dtypes.kind(aval.dtype) == "c":
        return lax.complex(byteswap(lax.real(self)), byteswap(lax.imag(self)))
    if dtypes.itemsize_bits(aval.dtype) <= 8:
        return self
    octets = lax.bitcast_convert_type(lax.convert_element_type(self, aval.dtype), BYTE)
    return lax.bitcast_convert_type(lax.rev(octets, (octets.ndim - 1,)), aval.dtype)


@folded
def __array_namespace__(self: Any, *, api_version: Any = None) -> Any:
    """The module of functions for such arrays, of a version of the array API standard: ``rabbet.numpy``, or
    the one that the setting ``array_namespace`` names.
    """
    if api_version not in (None, __array_api_version__):
        raise ValueError(
            f"the array API standard is offered in version {__array_api_version__!r}, not {api_version!r}"
        )
    named = config.array_namespace
    return rabbet.numpy if named == "rabbet.numpy" else importlib.import_module(named)


def __getattr__(name: str) -> Any:
    return getattr(rabbet.numpy, name)


__all__ = ["__array_namespace__", "byteswap", "notebook_table", "view"]
