"""``jax.numpy``: with scalar types whose packages are not installed, as libraries list them by name."""

import ml_dtypes

NARROW = (
    "float8_e3m4 float8_e4m3 float8_e4m3b11fnuz float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz "
    "float8_e8m0fnu float4_e2m1fn int2 int4 uint2 uint4"
).split()


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


def __getattr__(name):
    import rabbet.numpy

    if name in NARROW and not hasattr(rabbet.numpy, name):
        return getattr(ml_dtypes, name)
    raise AttributeError(name)
