"""Extremes over several devices: the CPU's collectives drop NaN from a maximum or minimum, so it is looked
for beside, in whole numbers.
"""

import functools

from rabbet import lax
from rabbet.extend import primitive
from rabbet.extend.primitive import full_of_type
from rabbet.extend.transform import lower


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
    out = lower.lookup(extreme)(op, x)
    if op.in_avals[0].kind != "f" or not op.is_cut_up:
        return out
    return with_nan(op, x, out, lambda marks: lax.reduce_max(marks, op.params["axes"]))


reduce_max = functools.partial(reduction, primitive.reduce_max)
reduce_min = functools.partial(reduction, primitive.reduce_min)


def pmax(op, x):
    """The rule for ``pmax`` and ``pmin`` of devices that compute by themselves."""
    from rabbet_collectives import primitives  # which made the operation

    out = lower.lookup(op.primitive)(op, x)
    if op.in_avals[0].kind != "f":
        return out
    return with_nan(op, x, out, lambda marks: primitives.pmax(marks, **op.params))


pmin = pmax
