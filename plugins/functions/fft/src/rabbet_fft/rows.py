"""Rows of ``primitive.py``."""

from typing import Any

import numpy as np
from rabbet.testing.draws import some
from rabbet.testing.table import Row

from rabbet_fft.primitive import FftType, fft

FFT, IFFT, RFFT, IRFFT = FftType

COMPLEX = ("complex128", "complex64")
REAL = ("float64", "float32")
ORACLE: dict[Any, Any] = {FFT: np.fft.fftn, IFFT: np.fft.ifftn, RFFT: np.fft.rfftn, IRFFT: np.fft.irfftn}


def transform(fft_type, lengths, *lead, orders=1):
    """A row for one type and lengths; ``lead`` are the dimensions before."""
    last = lengths[-1] // 2 + 1 if fft_type is IRFFT else lengths[-1]

    def reference(x):
        return ORACLE[fft_type](x, lengths, range(x.ndim - len(lengths), x.ndim))

    return Row(
        fft, reference, (some(*lead, *lengths[:-1], last),), REAL if fft_type is RFFT else COMPLEX,
        {"fft_type": fft_type, "fft_lengths": lengths}, f"{fft_type.name}-{'x'.join(map(str, lengths))}",
        orders,
    )  # fmt: skip


ROWS = [
    transform(FFT, (5,), 2),
    transform(FFT, (2, 3, 4), 1),
    transform(IFFT, (4,), 3),
    transform(IFFT, (3, 2)),
    *[transform(RFFT, (n,), orders=1) for n in (1, 2, 5, 6)],
    transform(RFFT, (3, 4), 2, orders=2),
    transform(RFFT, (2, 3, 3)),
    *[transform(IRFFT, (n,), orders=1) for n in (1, 2, 5, 6)],
    transform(IRFFT, (3, 4), 2, orders=2),
    transform(IRFFT, (2, 3, 3)),
]

__all__ = ["ROWS"]
