"""Rows of ``primitives/chlo_binary.py``."""

import numpy as np

from rabbet.extend import primitive as family
from rabbet.testing.draws import between, scalar
from rabbet.testing.table import INTEGERS, Row


def high_half(x, y):
    bits = 8 * x.dtype.itemsize
    products = x.astype(object) * y.astype(object)
    return (products >> bits).astype(x.dtype)


ROWS = [
    Row(
        family.nextafter,
        lambda x, y: np.where(x == y, y, np.nextafter(x, y)),
        (between(-3.0, 3.0), between(-3.0, 3.0)),
        ("float64", "float32", "float16"),
        orders=1,
    ),
    Row(family.mulhi, high_half, (between(-(2**30), 2**30),) * 2, ("int32", "int64", "uint32")),
    Row(family.mulhi, high_half, (between(0, 100), scalar(0, 100)), INTEGERS, note="scalar right"),
]
