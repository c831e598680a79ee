"""``jax.numpy``: with scalar types whose packages are not installed, as libraries list them by name, and with
constants that are traced, by which libraries see that they run inside ``jit``.
"""

import functools

import ml_dtypes
import numpy as np
from rabbet.extend.transform import Interpreter, Tracer, context, is_tracer, typeof

NARROW = (
    "float8_e3m4 float8_e4m3 float8_e4m3b11fnuz float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz "
    "float8_e8m0fnu float4_e2m1fn int1 int2 int4 uint1 uint2 uint4"
).split()

PYTHONS = frozenset([bool, int, float, complex])
__passes_operations_on__ = True  # who calls these asks, for `numpy_dtype_promotion` too


def shape(a):
    """The shape; that of None is that of a number, as in NumPy."""
    import rabbet.numpy

    return () if a is None else rabbet.numpy.shape(a)


def ndim(a):
    """The number of dimensions, see ``shape``."""
    return len(shape(a))


def size(a, axis=None):
    """The number of elements, see ``shape``."""
    import rabbet.numpy

    return 1 if a is None else rabbet.numpy.size(a, axis)


def result_type(*args, return_weak_type_flag=False):
    """The dtype of the result; dtypes of 64 bits that are written out count as everywhere under JAX."""
    import rabbet as rb

    given = [
        rb.dtypes.requested(x)
        if isinstance(x, (str, np.dtype)) or (isinstance(x, type) and x not in PYTHONS)
        else x
        for x in args
    ]
    return rb.dtypes.result_type(*given, return_weak_type_flag=return_weak_type_flag)


def traced(make):
    """``make``, a function that makes arrays of values, as JAX has it: inside ``jit`` and the like a new
    array is a tracer, as the results of operations are. Rabbet itself leaves a known value known.
    """

    @functools.wraps(make)
    def made(value, *args, **kwargs):
        array = make(value, *args, **kwargs)
        stage = context.interpreter
        while isinstance(stage, Interpreter) and not stage.stages:
            stage = stage.parent
        if array is value or is_tracer(array) or not isinstance(stage, Interpreter):
            return array
        return Tracer(stage, stage.lift(array), typeof(array))

    return made


def __getattr__(name):
    import rabbet.numpy

    if name in ("array", "asarray"):
        found = globals()[name] = traced(getattr(rabbet.numpy, name))
        return found
    if name in NARROW and hasattr(ml_dtypes, name) and not hasattr(rabbet.numpy, name):
        return getattr(ml_dtypes, name)
    raise AttributeError(name)
