"""Rows of ``primitives/reductions.py``."""

import numpy as np

from rabbet.extend import primitive as family
from rabbet.testing.draws import among, some
from rabbet.testing.table import BITS, NUMBERS, REALS, Row

AXES = ((1,), (0, 2), (0, 1, 2), ())
SOME = (some(2, 3, 2),)
INT32 = np.dtype("int32")


def over(primitive, reference, dtypes, inputs=SOME, orders=2, note=""):
    """A row per choice of axes."""
    return [
        Row(primitive, lambda x, axes=axes: reference(x, axes), inputs, dtypes if i < 2 else dtypes[:1],
            {"axes": axes}, f"{note}{axes}", orders)
        for i, axes in enumerate(AXES)
    ]  # fmt: skip


def in_dtype(function):
    """The NumPy reduction in the dtype of its operand, where NumPy would widen."""
    return lambda x, axes: function(x, axis=axes, dtype=x.dtype if x.dtype.kind in "iu" else None)


def folding(ufunc):
    def reference(x, axes):
        for axis in sorted(axes, reverse=True):
            x = ufunc.reduce(x, axis=axis)
        return x

    return reference


def position(primitive, reference, note, inputs, dtypes=(*REALS, "bool")):
    return Row(
        primitive,
        lambda x: reference(x, axis=1).astype(INT32),
        inputs,
        dtypes,
        {"axes": (1,), "index_dtype": INT32},
        note,
    )


WITH_NAN = among([1.0, 3.0, np.nan, -np.inf, np.inf], 6, 5)

ROWS = [
    *over(family.reduce_sum, in_dtype(np.sum), NUMBERS),
    *over(family.reduce_prod, in_dtype(np.prod), NUMBERS),
    *over(
        family.reduce_prod,
        in_dtype(np.prod),
        ("float32",),
        (among([0.0, 0.0, 1.5, -2.0], 2, 3, 2),),
        note="zeros ",
    )[:2],
    *over(family.reduce_max, np.max, (*REALS, "bool")),
    *over(family.reduce_min, np.min, (*REALS, "bool")),
    *over(family.reduce_max, np.max, ("float32",), (WITH_NAN._replace(shape=(2, 3, 2)),), 0, "nan "),
    *over(family.reduce_and, folding(np.bitwise_and), BITS, orders=0),
    *over(family.reduce_or, folding(np.bitwise_or), BITS, orders=0),
    *over(family.reduce_xor, folding(np.bitwise_xor), BITS, orders=0),
    position(family.argmax, np.argmax, "", (some(3, 4),)),
    position(family.argmin, np.argmin, "", (some(3, 4),)),
    position(family.argmax, np.argmax, "ties", (among([1, 2], 4, 6),), ("int32", "float32")),
    position(family.argmin, np.argmin, "ties", (among([1, 2], 4, 6),), ("int32", "float32")),
    position(family.argmax, np.argmax, "nan", (WITH_NAN,), ("float32", "float16")),
    position(family.argmin, np.argmin, "nan", (WITH_NAN,), ("float32", "float16")),
]

__all__ = ["ROWS"]
