"""Division with NumPy's meaning: ``/``, ``//``, ``%`` and ``divmod``, for every kind of number."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from rabbet import dtypes
from rabbet.lax import values
from rabbet.lax.array_types import ArrayLike, ArrayOrTracer, DTypeLike
from rabbet.lax.powers import strong
from rabbet.lax.promotion import beside, cast_operand, promote_operands
from rabbet.primitives import elementwise, logic, powers
from rabbet.program import python_scalars
from rabbet.program.avals import ShapedArray
from rabbet.trace.interpreter import typeof


def true_divide(x: ArrayLike, y: ArrayLike) -> ArrayOrTracer:
    """``x / y``; integers divide as floats."""
    x, y = beside(x, y)
    dtype = typeof(y if python_scalars.is_python_scalar(x) else x).dtype
    if dtypes.kind(dtype) in "biu":
        wide, a, b = dtypes.to_inexact(dtype), typeof(x), typeof(y)
        weak = a.weak_type and b.weak_type  # as of a loop's counter, divided by a number
        x, y = cast_operand(x, a, wide, weak), cast_operand(y, b, wide, weak)
    return elementwise.div(x, y)


def floor_divide(x: ArrayLike, y: ArrayLike) -> ArrayOrTracer:
    """``floor(x / y)`` in the operands' common dtype. As in NumPy, integers give 0 for ``y`` = 0."""
    x, y, kind = together(x, y)
    if kind == "c":
        raise TypeError("complex numbers have no floor division")
    if kind not in "iu":
        return _float_floor_divide(x, y)
    quotient = elementwise.div(x, y)
    if kind == "i":
        inexact = logic.bitwise_and(
            logic.ne(powers.sign(x), powers.sign(y)), logic.ne(elementwise.rem(x, y), 0)
        )
        quotient = logic.select_n(inexact, quotient, elementwise.sub(quotient, 1))
    return _zero_if_zero(y, quotient)


def remainder(x: ArrayLike, y: ArrayLike) -> ArrayOrTracer:
    """``x - floor(x / y) * y``: the remainder with the sign of ``y``, also where it is zero. As in NumPy,
    integers give 0 for ``y`` = 0.
    """
    x, y, kind = together(x, y)
    if kind == "c":
        raise TypeError("complex numbers have no remainder")
    rest = elementwise.rem(x, y)
    if kind != "u":
        fix = logic.bitwise_and(logic.ne(logic.lt(rest, 0), logic.lt(y, 0)), logic.ne(rest, 0))
        fixed = logic.select_n(fix, rest, elementwise.add(rest, y))
    if kind in "iu":
        return _zero_if_zero(y, rest if kind == "u" else fixed)
    # A zero with the sign of y, and with the derivative of rest.
    known = _number(y)
    zero = elementwise.mul(powers.sign(y), 0.0) if known is None else math.copysign(0.0, known)
    zero = elementwise.sub(zero, elementwise.sub(values.stop_gradient(rest), rest))
    return logic.select_n(logic.eq(rest, 0), fixed, zero)


def _number(y: ArrayLike) -> Any:
    """The value of a bare number, None for an array."""
    return y if python_scalars.is_python_scalar(y) or isinstance(y, np.generic) else None


def _zero_if_zero(y: ArrayLike, result: ArrayLike) -> ArrayOrTracer:
    """An integer result, but 0 where the divisor is, for which XLA has values of its own."""
    if _number(y):
        return result
    return logic.select_n(logic.eq(y, 0), result, elementwise.mul(result, 0))


def _float_floor_divide(x: ArrayLike, y: ArrayLike) -> ArrayOrTracer:
    rest, ratio = elementwise.rem(x, y), elementwise.div(x, y)
    quotient = elementwise.div(elementwise.sub(x, rest), y)
    below = logic.bitwise_and(logic.ne(rest, 0), logic.ne(logic.lt(y, 0), logic.lt(rest, 0)))
    quotient = elementwise.round_even(logic.select_n(below, quotient, elementwise.sub(quotient, 1)))
    # Of a divisor of zero the ratio knows all; and a zero has the sign of the ratio.
    quotient = logic.select_n(logic.eq(quotient, 0), quotient, elementwise.mul(powers.sign(ratio), 0.0))
    if _number(y):
        return quotient
    return logic.select_n(logic.eq(y, 0), quotient, elementwise.round_even(ratio))


def together(x: ArrayLike, y: ArrayLike) -> Any:
    """``(x, y, kind)``: both promoted, bare numbers made scalars of the common dtype, weak if the other
    operand is, and the kind of that dtype.
    """
    x, y = promote_operands(x, y)
    aval = typeof(y if python_scalars.is_python_scalar(x) else x)
    dtype = aval.dtype
    if dtypes.kind(dtype) == "b":  # truth values count as integers here
        dtype = np.dtype("int32")
        x, y = cast_operand(x, typeof(x), dtype), cast_operand(y, typeof(y), dtype)
    return _like(aval, x, dtype), _like(aval, y, dtype), dtypes.kind(dtype)


def _like(aval: ShapedArray, x: ArrayLike, dtype: DTypeLike) -> Any:
    """A bare number as a scalar of ``dtype``, as weak as ``aval``; an array as it is."""
    if aval.weak_type and python_scalars.is_python_scalar(x):
        return python_scalars.typed_scalar(
            dtypes.numpy_scalar(x, dtype)[()], aval.update(shape=(), dtype=dtype)
        )
    return strong(x, dtype)


def divmod_(x: ArrayLike, y: ArrayLike) -> tuple:
    return floor_divide(x, y), remainder(x, y)


__all__ = ["divmod_", "floor_divide", "remainder", "true_divide"]
