"""``jax._src.dtypes``, from which flax derives a dtype of its own."""

import numpy as np
import rabbet as rb

DType = np.dtype


class extended:
    """What dtypes beside NumPy's are kinds of."""


class ExtendedDType:
    """What dtypes beside NumPy's are instances of."""


finfo, iinfo = rb.numpy.finfo, rb.numpy.iinfo


def supports_inf(dtype):
    """Whether a floating dtype has infinities."""
    return bool(np.isinf(np.asarray(np.inf, dtype).astype("float32")))
