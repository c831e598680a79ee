"""Dtypes: converting to one, and the ends of its range."""

import numpy as np
from rabbet import dtypes, lax
from rabbet.extend.transform import typeof


def converted(x, dtype):
    """``x`` as ``dtype``, or itself if it has it."""
    return x if typeof(x).dtype == dtype else lax.convert_element_type(x, dtype)


def extreme(dtype, largest):
    """The largest or smallest value of a real or boolean dtype: an infinity for floats."""
    kind = dtypes.kind(dtype)
    if kind == "b":
        return np.bool_(largest)
    if kind in "iu":
        info = dtypes.iinfo(dtype)
        return info.max if largest else info.min
    return np.inf if largest else -np.inf
