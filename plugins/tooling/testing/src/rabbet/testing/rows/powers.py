"""Rows of ``primitives/powers.py``."""

import math

import numpy as np

from rabbet.extend import primitive as family
from rabbet.testing.draws import among, between, scalar, some
from rabbet.testing.table import FLOATS, INEXACT, NUMBERS, Row

erf = np.vectorize(math.erf, otypes=[float])
erfc = np.vectorize(math.erfc, otypes=[float])


def erf_inv(y):
    """By Newton's steps from a rough start; good to double precision away from the ends."""
    x = np.zeros_like(y)
    for _ in range(60):
        x = x - (erf(x) - y) / (2 / np.sqrt(np.pi) * np.exp(-x * x))
    return x


def integer_power(y):
    return lambda x: x**y if y >= 0 else 1 / x ** (-y)


ROWS = [
    *[
        Row(
            family.integer_pow,
            integer_power(y),
            (some(),),
            NUMBERS if y < 4 else ("float32",),
            {"y": y},
            f"{y}",
            2,
        )
        for y in (0, 1, 2, 3, 7)
    ],
    Row(family.integer_pow, integer_power(-2), (between(0.5, 2.0),), INEXACT, {"y": -2}, "-2", 2),
    Row(family.pow, np.power, (between(0.2, 3.0), some()), INEXACT, orders=2, loose=10),
    Row(
        family.pow, np.power, (between(0.2, 3.0), scalar()), INEXACT, note="scalar right", orders=2, loose=10
    ),
    Row(family.pow, np.power, (scalar(0.2, 3.0), some()), INEXACT, note="scalar left", orders=2, loose=10),
    Row(
        family.pow,
        np.power,
        (some(), among([0, 1, 2, 3], dtype="int32")),
        ("float32", "complex64"),
        note="int",
        orders=2,
    ),
    Row(family.pow, np.power, (some(), some()), ("float32",), note="extremes", extremes=True),
    Row(family.square, np.square, (some(),), NUMBERS, orders=2, extremes=True),
    Row(family.abs, np.abs, (some(),), NUMBERS, orders=2, extremes=True),
    Row(family.exp2, np.exp2, (some(),), INEXACT, orders=2, extremes=True),
    Row(family.erf, erf, (some(),), FLOATS, orders=2, extremes=True),
    Row(family.erfc, erfc, (some(),), FLOATS, orders=2, extremes=True, loose=2),
    Row(family.erf_inv, erf_inv, (between(-0.9, 0.9),), FLOATS, orders=2),
]

__all__ = ["ROWS"]
