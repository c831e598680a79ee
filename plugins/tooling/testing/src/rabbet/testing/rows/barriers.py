"""Rows of ``primitives/barrier.py``."""

import numpy as np

from rabbet.extend import primitive as family
from rabbet.testing.draws import some
from rabbet.testing.table import Row

DTYPES = ("float32", "float64", "bfloat16", "int32", "bool", "complex64")

ROWS = [
    Row(family.keep_apart, np.asarray, (some(2, 3),), DTYPES, orders=2),
    Row(family.optimization_barrier, lambda x, y: [x, y], (some(2, 3), some(4)), DTYPES, orders=2),
    Row(family.optimization_barrier, np.asarray, (some(2, 3),), ("float32",), note="one", orders=1),
]

__all__ = ["ROWS"]
