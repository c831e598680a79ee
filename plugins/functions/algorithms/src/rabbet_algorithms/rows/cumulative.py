"""Rows of ``primitives/cumulative.py``."""

import numpy as np
from rabbet.testing.draws import among, some
from rabbet.testing.table import FLOATS, NUMBERS, REALS, Row

from rabbet_algorithms import primitives as family

SOME = (some(3, 5),)


def running(primitive, ufunc, dtypes, inputs=SOME, note="", orders=2):
    """A row per axis and direction."""

    def reference(axis, reverse):
        def run(x):
            x = np.flip(x, axis) if reverse else x
            out = (
                ufunc.accumulate(x, axis=axis, dtype=x.dtype)
                if ufunc is not np.logaddexp
                else log_sums(x, axis)
            )
            return np.flip(out, axis) if reverse else out

        return run

    return [
        Row(primitive, reference(axis, reverse), inputs, dtypes if i == 0 else dtypes[:1],
            {"axis": axis, "reverse": reverse}, f"{note}{axis}{'r' if reverse else ''}", orders)
        for i, (axis, reverse) in enumerate(((0, False), (1, True), (1, False), (0, True)))
    ]  # fmt: skip


def log_sums(x, axis):
    return np.logaddexp.accumulate(x, axis=axis)


ZEROS = (among([0.0, 1.5, -2.0], 2, 7),)
SPECIAL = (among([-np.inf, 1.0, 200.0, -200.0], 2, 7),)
TIES = (among([1, 2], 2, 7),)
NAN = (among([1.0, np.nan, 2.0], 2, 7),)

ROWS = [
    *running(family.cumsum, np.add, NUMBERS),
    *running(family.cumprod, np.multiply, NUMBERS),
    *running(family.cumprod, np.multiply, ("float32",), ZEROS, "zeros"),
    *running(family.cummax, np.maximum, REALS),
    *running(family.cummin, np.minimum, REALS),
    *running(family.cummax, np.maximum, ("int32",), TIES, "ties", 0),
    *running(family.cummax, np.maximum, ("float32",), NAN, "nan", 0),
    *running(family.cumlogsumexp, np.logaddexp, FLOATS),
    *running(family.cumlogsumexp, np.logaddexp, ("float32",), SPECIAL, "infinite", 0),
]

__all__ = ["ROWS"]
