"""Extremes over several devices: the CPU's collectives drop NaN from a maximum or minimum. So floats are
compared as whole numbers of the same bits in the same order, among which NaN is the extreme; formats that
fill no such number look for NaN beside.
"""

import functools

import numpy as np
from rabbet import lax
from rabbet.extend import primitive
from rabbet.extend.primitive import full_of_type
from rabbet.extend.transform import lower

WHOLE = {"float16": "int16", "bfloat16": "int16", "float32": "int32", "float64": "int64"}


def ordered(op, reduce, largest):
    """The extreme of whole numbers that stand in the order of the floats, made a float again; None for floats
    without such numbers, and where there is nothing to compare.

    Args:
      reduce: the extreme of the numbers.
      largest: whether it is the maximum.
    """
    (aval,) = op.in_avals
    kind = WHOLE.get(aval.dtype.name)
    if kind is None or not aval.size:
        return None
    most = np.iinfo(kind).max

    def turned(bits):  # of negative floats the larger ones have the smaller bits
        return lax.select(lax.lt(bits, zeros(bits)), lax.bitwise_xor(bits, full(bits, most)), bits)

    def parts(x):
        keys = turned(lax.bitcast_convert_type(x, kind))
        nan = full(keys, most if largest else np.iinfo(kind).min)
        found = reduce(lax.select(lax.ne(x, x), nan, keys))
        return [lax.bitcast_convert_type(turned(found), aval.dtype)]

    return parts


def full(like, value):
    """An array of a number, of the shape and type of another."""
    return lax.full_like(like, value)


def zeros(like):
    return full(like, 0)


def with_nan(op, x, out, any_of):
    """``out``, the extreme of ``x``, or NaN where ``any_of`` finds one among elements marked by 1."""
    (aval,) = op.in_avals

    def parts(x, out):
        marks = lax.convert_element_type(lax.ne(x, x), "int32")
        return [lax.select(lax.gt(any_of(marks), 0), full_of_type(op.out.bare, float("nan")), out)]

    (name,) = op.write(parts, [aval, op.out], [x, out])
    return name


def reduction(extreme, op, x):
    """The rule for ``reduce_max`` and ``reduce_min``, which matters where the compiler cuts up a program."""
    if op.in_avals[0].kind != "f" or not op.is_cut_up:
        return lower.lookup(extreme)(op, x)
    same = lax.reduce_max if extreme is primitive.reduce_max else lax.reduce_min
    axes = op.params["axes"]
    parts = ordered(op, lambda keys: same(keys, axes), extreme is primitive.reduce_max)
    if parts is not None:
        (name,) = op.write(parts, op.in_avals, [x])
        return name
    out = lower.lookup(extreme)(op, x)
    return with_nan(op, x, out, lambda marks: lax.reduce_max(marks, axes))


reduce_max = functools.partial(reduction, primitive.reduce_max)
reduce_min = functools.partial(reduction, primitive.reduce_min)


def collective(op, x):
    """The rule for ``pmax`` and ``pmin`` of devices that compute by themselves."""
    from rabbet_collectives import primitives  # which made the operation

    if op.in_avals[0].kind != "f":
        return lower.lookup(op.primitive)(op, x)
    parts = ordered(op, lambda keys: op.primitive(keys, **op.params), op.primitive is primitives.pmax)
    if parts is not None:
        (name,) = op.write(parts, op.in_avals, [x])
        return name
    out = lower.lookup(op.primitive)(op, x)
    return with_nan(op, x, out, lambda marks: primitives.pmax(marks, **op.params))


pmax = pmin = collective
