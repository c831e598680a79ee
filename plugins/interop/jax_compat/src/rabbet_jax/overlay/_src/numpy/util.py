"""``jax._src.numpy.util``: what libraries read there, promotion of several arrays to one dtype."""

import numpy as np
import rabbet as rb
import rabbet.numpy as rnp


def promote_dtypes(*args):
    """The arguments as arrays of the dtype that they are promoted to."""
    dtype = rnp.result_type(*args)
    return [rnp.asarray(x, dtype) for x in args]


def promote_dtypes_inexact(*args):
    """As ``promote_dtypes``, of a floating or complex dtype: integers become floats."""
    dtype = rnp.result_type(*args)
    if not rb.dtypes.issubdtype(dtype, np.inexact):
        dtype = rnp.result_type(dtype, float)
    return [rnp.asarray(x, dtype) for x in args]


def promote_dtypes_numeric(*args):
    """As ``promote_dtypes``, of no boolean dtype: these become integers."""
    dtype = rnp.result_type(*args)
    if dtype == np.dtype(bool):
        dtype = rnp.result_type(int)
    return [rnp.asarray(x, dtype) for x in args]


def ensure_arraylike(name, *args):
    """The arguments as arrays.

    Raises:
      TypeError: for lists and what is not an array.
    """
    check_arraylike(name, *args)
    arrays = tuple(rnp.asarray(x) for x in args)
    return arrays[0] if len(args) == 1 else arrays


def check_arraylike(name, *args, emit_warning=False):
    """Refuse lists and what is not an array.

    Raises:
      TypeError: with the function's name.
    """
    for i, x in enumerate(args):
        if isinstance(x, (list, tuple, str, dict)) or x is None:
            raise TypeError(f"{name} takes arrays, got {type(x).__name__} at position {i}")
