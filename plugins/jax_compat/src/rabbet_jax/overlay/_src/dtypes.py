"""``jax._src.dtypes``, from which flax derives a dtype of its own, and by which optree finds dtypes."""

import numpy as np
import rabbet as rb
from rabbet.errors import TypePromotionError as TypePromotionError

DType = np.dtype


class extended:
    """What dtypes beside NumPy's are kinds of."""


class ExtendedDType:
    """What dtypes beside NumPy's are instances of."""


finfo, iinfo, result_type = rb.numpy.finfo, rb.numpy.iinfo, rb.numpy.result_type


def supports_inf(dtype):
    """Whether a floating dtype has infinities."""
    return bool(np.isinf(np.asarray(np.inf, dtype).astype("float32")))


def dtype(x):
    """The dtype of an array or a number."""
    return rb.numpy.result_type(x)
