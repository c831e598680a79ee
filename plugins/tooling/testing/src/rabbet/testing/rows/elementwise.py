"""Rows of ``primitives/elementwise.py``."""

import numpy as np

from rabbet.extend import primitive as family
from rabbet.testing.draws import among, between, some
from rabbet.testing.table import ANY, FLOATS, INEXACT, NUMBERS, Row


def unary(primitive, reference, low=-2.0, high=2.0, dtypes=INEXACT, orders=2, **more):
    return Row(primitive, reference, (between(low, high),), dtypes, orders=orders, extremes=True, **more)


def binary(primitive, reference, dtypes=NUMBERS, orders=2, **more):
    inputs = more.pop("inputs", (some(), some()))
    return Row(primitive, reference, inputs, dtypes, orders=orders, extremes=True, **more)


def with_scalar(row):
    """The row with a scalar beside an array, on either side."""
    array, other = row.inputs
    right = row.but(inputs=(array, other._replace(shape=())), note="scalar right", extremes=False)
    left = row.but(inputs=(array._replace(shape=()), other), note="scalar left", extremes=False)
    return [row, right, left]


def truncated_division(x, y):
    if x.dtype.kind in "iu":
        return (
            np.sign(x.astype(int)) * np.sign(y.astype(int)) * (abs(x.astype(int)) // abs(y.astype(int)))
        ).astype(x.dtype)
    return np.divide(x, y)


def sign(x):
    if x.dtype.kind == "c":
        return np.where(x == 0, 0, x / np.abs(x))
    return np.sign(x)


def round_away(x):
    return np.trunc(x + np.copysign(0.5, x))


NONZERO = among([-3, -2, -1.25, 1, 1.5, 2, 3])

ARITHMETIC = [
    *with_scalar(binary(family.add, np.add)),
    *with_scalar(binary(family.sub, np.subtract)),
    *with_scalar(binary(family.mul, np.multiply, ANY)),
    *with_scalar(
        binary(
            family.div,
            truncated_division,
            ("float32", "float64", "float16", "bfloat16", "complex64", "int32"),
            inputs=(some(), NONZERO),
        )
    ),
    *with_scalar(
        binary(
            family.rem,
            np.fmod,
            ("float32", "float64", "int32", "uint8"),
            inputs=(some(), among([1.25, 2, 3])),
        )
    ),
    unary(family.neg, np.negative, dtypes=NUMBERS),
]

EXTREMA = [
    *with_scalar(binary(family.max, np.maximum, ANY)),
    *with_scalar(binary(family.min, np.minimum, ANY)),
    binary(
        family.max,
        np.maximum,
        ("int32", "float32"),
        inputs=(among([1, 2]), among([1, 2])),
        note="ties",
        orders=0,
    ),
    unary(family.sign, sign, dtypes=NUMBERS),
    unary(family.floor, np.floor, dtypes=FLOATS, orders=0),
    unary(family.ceil, np.ceil, dtypes=FLOATS, orders=0),
    Row(family.round_even, np.rint, (among([0.5, 1.5, 2.5, -0.5, 0.3, -1.7]),), FLOATS, extremes=True),
    Row(family.round_away, round_away, (among([0.5, 1.5, 2.5, -0.5, 0.3, -1.7]),), FLOATS, extremes=True),
]

EXPONENTIALS = [
    unary(family.exp, np.exp),
    unary(family.expm1, np.expm1),
    unary(family.log, np.log, 0.1, 4.0),
    unary(family.log1p, np.log1p, -0.5, 4.0),
    unary(family.sqrt, np.sqrt, 0.1, 4.0),
    unary(family.rsqrt, lambda x: 1 / np.sqrt(x), 0.1, 4.0),
    unary(family.cbrt, np.cbrt, 0.1, 4.0, FLOATS),
    unary(family.logistic, lambda x: 1 / (1 + np.exp(-x))),
    unary(family.tanh, np.tanh),
]

TRIGONOMETRY = [
    unary(family.sin, np.sin),
    unary(family.cos, np.cos),
    unary(family.tan, np.tan, -1.2, 1.2),
    unary(family.asin, np.arcsin, -0.9, 0.9),
    unary(family.acos, np.arccos, -0.9, 0.9),
    unary(family.atan, np.arctan),
    unary(family.sinh, np.sinh),
    unary(family.cosh, np.cosh),
    unary(family.asinh, np.arcsinh),
    unary(family.acosh, np.arccosh, 1.2, 4.0),
    unary(family.atanh, np.arctanh, -0.9, 0.9),
    *with_scalar(binary(family.atan2, np.arctan2, FLOATS)),
]

ROWS = [*ARITHMETIC, *EXTREMA, *EXPONENTIALS, *TRIGONOMETRY]

__all__ = ["ROWS"]
