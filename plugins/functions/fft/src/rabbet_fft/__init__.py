"""The discrete Fourier transform for ``rabbet.lax``.

``rabbet.lax`` finds it here when one of its names is first used.
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

from rabbet import dtypes, lax
from rabbet.extend.transform import typeof

from rabbet_fft import primitive
from rabbet_fft.primitive import FftType

if TYPE_CHECKING:
    from collections.abc import Sequence
    from rabbet.typing import Value


def fft(x: Value, fft_type: Any, fft_lengths: Sequence[int]) -> Value:
    """The discrete Fourier transform over the last one to three dimensions.

    Args:
      x: an array. Real ones are taken as complex by ``FFT``, ``IFFT`` and ``IRFFT``; integers and half
        precision become float32 first.
      fft_type: a ``FftType`` or its name.
      fft_lengths: the sizes of the transformed dimensions; of ``RFFT`` those of ``x``, of ``IRFFT`` those of
        the result, where ``x`` has ``n // 2 + 1`` in the last one.

    Returns:
      an array: real for ``IRFFT``, else complex; in double precision if ``x`` is.

    Raises:
      TypeError: for complex ``x`` with ``RFFT``.
      ValueError: for an unknown ``fft_type``, or lengths that do not fit ``x``.

    Example:
      >>> lax.fft(rnp.array([1.0 + 0j, 0.0]), "fft", (2,))
      Array([1.+0.j, 1.+0.j], dtype=complex64)
    """
    fft_type = _type(fft_type)
    lengths = tuple([operator.index(n) for n in fft_lengths])
    dtype = dtypes.to_inexact(typeof(x).dtype)
    if dtypes.kind(dtype) == "f" and dtype.itemsize < 4:
        dtype = dtypes.canonicalize("float32")
    if fft_type is not FftType.RFFT and dtypes.kind(dtype) == "f":
        dtype = primitive.complex_dtype(dtype)
    x = x if typeof(x).dtype == dtype else lax.convert_element_type(x, dtype)
    return primitive.fft(x, fft_type=fft_type, fft_lengths=lengths) if lengths else x


def _type(given):
    names = FftType.__members__
    found: Any = names.get(given.upper()) if isinstance(given, str) else given
    try:
        return FftType(found)
    except ValueError:
        raise ValueError(f"fft_type must be one of {', '.join(names)}, got {given!r}") from None


__all__ = ["FftType", "fft"]
