"""``jax._src.dtypes``, from which flax derives a dtype of its own, and by which optree finds dtypes."""

import numpy as np
import rabbet as rb
from rabbet.errors import TypePromotionError as TypePromotionError

from rabbet_jax.overlay.numpy import result_type as result_type

DType = np.dtype
WIDE = [np.dtype(d) for d in ("int64", "uint64", "float64", "complex128")]


class extended:
    """What dtypes beside NumPy's are kinds of."""


class ExtendedDType:
    """What dtypes beside NumPy's are instances of."""


canonicalize_dtype, issubdtype = rb.dtypes.canonicalize_dtype, rb.dtypes.issubdtype
finfo, iinfo = rb.numpy.finfo, rb.numpy.iinfo


def itemsize_bits(dtype):
    """How many bits an element has."""
    return rb.dtypes.itemsize_bits(dtype)


def supports_inf(dtype):
    """Whether a floating dtype has infinities."""
    return bool(np.isinf(np.asarray(np.inf, dtype).astype("float32")))


def dtype(x):
    """The dtype of an array or a number."""
    return rb.numpy.result_type(x)


def to_complex_dtype(dtype):
    """The complex dtype for a dtype: ``complex128`` for 64-bit numbers, else ``complex64``."""
    return np.dtype("complex128" if np.dtype(dtype) in WIDE else "complex64")


def to_inexact_dtype(dtype):
    """A dtype with fractions as it is; for integers the floating one of as many bits, at least 32."""
    if rb.dtypes.issubdtype(dtype, np.inexact):
        return np.dtype(dtype)
    return np.dtype("float64" if np.dtype(dtype) in WIDE else "float32")
