"""Formats of few bits, where no installed package has them."""

import ml_dtypes
import numpy as np
import pytest
from rabbet import dtypes
from rabbet.extend.dtype import DTypeSpec
from rabbet.testing.draws import device_array

FORMATS = [
    DTypeSpec(
        "float8_e4m3fn", ml_dtypes.float8_e4m3fn, "f8E4M3FN", "f", above=("float*",), infinities=False,
        finfo=lambda: ml_dtypes.finfo("float8_e4m3fn"), compute="float32",
    ),
    DTypeSpec(
        "float4_e2m1fn", ml_dtypes.float4_e2m1fn, "f4E2M1FN", "f", above=("float*",), infinities=False,
        nan=False, bits=4, finfo=lambda: ml_dtypes.finfo("float4_e2m1fn"), compute="float32",
    ),
    DTypeSpec(
        "int4", ml_dtypes.int4, "i4", "i", above=("int*",), bits=4, finfo=lambda: ml_dtypes.iinfo("int4")
    ),
]  # fmt: skip


@pytest.fixture(params=FORMATS, ids=lambda one: one.name)
def numbers(request):
    """``numbers(1, 2)``, an array of a format of few bits."""
    if dtypes.find(request.param.name) is None:
        dtypes.add(request.param)
    dtype = dtypes.canonicalize(request.param.name)
    return lambda *values: device_array(np.array(values, np.float32).astype(dtype))


def wide(x):
    """The numbers as Python's."""
    return np.asarray(x).astype(np.float32).tolist()


@pytest.fixture(name="wide")
def wide_fixture():
    return wide
