"""Dtypes of arrays, and what linear algebra is not computed in: 16-bit floats become float32 and back."""

import functools

import numpy as np

from rabbet import dtypes
from rabbet.extend.rules import to_dtype
from rabbet.extend.transform import typeof

SINGLE = np.dtype("float32")


def in_single(function):
    """Decorator: arrays of narrow floats among the positional arguments are computed with in float32.

    The floating results get the narrow dtype.
    """

    @functools.wraps(function)
    def call(*args, **kwargs):
        narrow = [t for t in [typeof(x).dtype for x in args] if is_narrow(t)]
        if not narrow:
            return function(*args, **kwargs)
        wide = [to_dtype(x, SINGLE) if is_narrow(typeof(x).dtype) else x for x in args]
        out = function(*wide, **kwargs)
        if isinstance(out, (list, tuple)):
            return type(out)([back(x, narrow[0]) for x in out])
        return back(out, narrow[0])

    return call


def is_narrow(dtype):
    """Whether ``dtype`` is floating and has fewer than 32 bits."""
    return dtypes.kind(dtype) == "f" and dtypes.itemsize_bits(dtype) < 32


def back(x, dtype):
    """A float32 result in ``dtype``; others as they are."""
    return to_dtype(x, dtype) if typeof(x).dtype == SINGLE else x
