"""Rows of ``primitives/logic.py``."""

import numpy as np

from rabbet.extend import primitive as family
from rabbet.testing.draws import among, between, scalar, some
from rabbet.testing.table import ANY, BITS, FLOATS, INTEGERS, REALS, Row

NEAR = among([1, 2, 3])


def comparison(primitive, reference, dtypes=(*REALS, "bool")):
    row = Row(primitive, reference, (NEAR, NEAR), dtypes, extremes=True)
    right = row.but(inputs=(NEAR, NEAR._replace(shape=())), note="scalar right", extremes=False)
    left = row.but(inputs=(NEAR._replace(shape=()), NEAR), note="scalar left", extremes=False)
    return [row, right, left]


def unsigned(x):
    return x.view(f"uint{8 * x.dtype.itemsize}")


def population_count(x):
    return np.vectorize(lambda v: int(v).bit_count(), otypes=[x.dtype])(unsigned(x))


def leading_zeros(x):
    return np.vectorize(lambda v: 8 * x.dtype.itemsize - int(v).bit_length(), otypes=[x.dtype])(unsigned(x))


def shift_right_logical(x, y):
    return np.right_shift(unsigned(x), unsigned(y)).view(x.dtype)


def choose(which, *cases):
    which, *choices = np.broadcast_arrays(which, *cases)
    return np.choose(which.astype(int), choices)


def clip(low, x, high):
    return np.clip(x, low, high)


def selection(which, *shapes, note, dtypes=ANY):
    inputs = (which, *[some(*shape) if shape else scalar() for shape in shapes])
    return Row(family.select_n, choose, inputs, dtypes, note=note, orders=2)


COMPARISONS = [
    *comparison(family.eq, np.equal, ANY),
    *comparison(family.ne, np.not_equal, ANY),
    *comparison(family.lt, np.less),
    *comparison(family.le, np.less_equal),
    *comparison(family.gt, np.greater),
    *comparison(family.ge, np.greater_equal),
    Row(family.is_finite, np.isfinite, (some(),), FLOATS, extremes=True),
]

BITWISE = [
    Row(family.bitwise_and, np.bitwise_and, (some(), some()), BITS),
    Row(family.bitwise_or, np.bitwise_or, (some(), scalar()), BITS),
    Row(family.bitwise_xor, np.bitwise_xor, (scalar(), some()), BITS),
    Row(family.bitwise_not, np.bitwise_not, (some(),), BITS),
    Row(family.shift_left, np.left_shift, (some(), between(0, 7)), (*INTEGERS, "int64")),
    Row(
        family.shift_right_arithmetic, np.right_shift, (between(-100, 100), between(0, 7)), ("int32", "int8")
    ),
    Row(family.shift_right_logical, shift_right_logical, (between(-100, 100), between(0, 7)), INTEGERS),
    Row(family.population_count, population_count, (between(-100, 100),), (*INTEGERS, "int64")),
    Row(family.clz, leading_zeros, (between(-100, 100),), (*INTEGERS, "int64")),
]

BOOL, WHICH = some(dtype="bool"), between(0, 2, dtype="int32")

SELECTION = [
    selection(BOOL, (2, 3), (2, 3), note="bool"),
    selection(BOOL._replace(shape=()), (2, 3), (2, 3), note="one bool"),
    selection(BOOL, (), (2, 3), note="scalar case"),
    selection(BOOL, (), (), note="scalar cases"),
    selection(BOOL._replace(shape=()), (), (), note="scalars"),
    selection(WHICH, (2, 3), (2, 3), (2, 3), note="int"),
    Row(family.clamp, clip, (between(0, 1), some(), between(2, 3)), REALS, orders=2),
    Row(family.clamp, clip, (scalar(0, 1), some(), scalar(2, 3)), REALS, note="scalar bounds", orders=2),
]  # fmt: skip

ROWS = [*COMPARISONS, *BITWISE, *SELECTION]

__all__ = ["ROWS"]
