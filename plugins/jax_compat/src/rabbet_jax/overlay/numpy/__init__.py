"""``jax.numpy``: with scalar types whose packages are not installed, as libraries list them by name."""

import ml_dtypes

NARROW = (
    "float8_e3m4 float8_e4m3 float8_e4m3b11fnuz float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz "
    "float8_e8m0fnu float4_e2m1fn int2 int4 uint2 uint4"
).split()


def __getattr__(name):
    import rabbet.numpy

    if name in NARROW and not hasattr(rabbet.numpy, name):
        return getattr(ml_dtypes, name)
    raise AttributeError(name)
