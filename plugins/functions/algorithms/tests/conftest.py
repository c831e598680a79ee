"""Formats of few bits, where no installed package has them."""

import numpy as np
import pytest
from rabbet.testing.draws import device_array
from rabbet.testing.few_bits import FEW_BITS, few_bits


@pytest.fixture(params=FEW_BITS)
def numbers(request):
    """``numbers(1, 2)``, an array of a format of few bits."""
    dtype = few_bits(request.param)
    return lambda *values: device_array(np.array(values, np.float32).astype(dtype))


def wide(x):
    """The numbers as Python's."""
    return np.asarray(x).astype(np.float32).tolist()


@pytest.fixture(name="wide")
def wide_fixture():
    return wide
