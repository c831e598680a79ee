"""``x ** y`` for every dtype: integers by squaring, others by the primitive."""

from __future__ import annotations

from typing import Any

import numpy as np

from rabbet import dtypes
from rabbet.lax import creation
from rabbet.lax.array_types import ArrayLike, ArrayOrTracer, DTypeLike
from rabbet.lax.promotion import broadcast_operands, cast_operand, promote_operands
from rabbet.primitives import elementwise, logic, powers
from rabbet.program import python_scalars
from rabbet.trace.interpreter import typeof


def power(x: ArrayLike, y: ArrayLike) -> ArrayOrTracer:
    """``x ** y``; a static int exponent becomes repeated squaring."""
    if type(y) is int and not python_scalars.is_python_scalar(x):
        kind = dtypes.kind(typeof(x).dtype)
        if kind in "fc" or (kind in "iu" and y >= 0):
            return powers.integer_pow(x, y=y)
        if kind in "iu":
            raise TypeError(
                f"integers cannot be raised to the negative power {y}; convert the base to a float dtype"
            )
    x, y = promote_operands(x, y)
    dtype = typeof(x).dtype if not python_scalars.is_python_scalar(x) else typeof(y).dtype
    if dtypes.kind(dtype) in "fc":
        return powers.pow(x, y)
    return integer_power(x, y, dtype)


def integer_power(x: ArrayLike, y: ArrayLike, dtype: DTypeLike) -> ArrayOrTracer:
    """``x ** y`` for integer arrays, by squaring over the bits of the exponent. For a negative exponent it is
    the fraction without what follows the point: 0, but for 1 and -1.
    """
    if dtypes.kind(dtype) == "b":
        dtype = np.dtype("int32")
        x, y = cast_operand(x, typeof(x), dtype), cast_operand(y, typeof(y), dtype)
    x, y = broadcast_operands([strong(x, dtype), strong(y, dtype)])
    weak = typeof(x).weak_type and typeof(y).weak_type
    one = creation.full_like(x, 1, None if weak else dtype)
    result, square = one, x
    for bit in range(dtypes.itemsize_bits(dtype)):
        odd = logic.ne(logic.bitwise_and(logic.shift_right_logical(y, bit), 1), 0)
        result = logic.select_n(odd, result, elementwise.mul(result, square))
        square = elementwise.mul(square, square)
    if dtypes.kind(dtype) == "i":
        # Powers of 1 and -1 depend on the exponent's last bit alone, which is that of its amount too.
        vanishes = logic.bitwise_and(logic.lt(y, 0), logic.bitwise_and(logic.ne(x, 1), logic.ne(x, -1)))
        result = logic.select_n(vanishes, result, creation.full_like(result, 0))
    return result


def strong(x: ArrayLike, dtype: DTypeLike) -> Any:
    """``x``, a bare Python number as a NumPy scalar of ``dtype``: for functions that treat their operands
    one by one.
    """
    return (
        python_scalars.typed(dtypes.numpy_scalar(x, dtype), dtype)
        if python_scalars.is_python_scalar(x)
        else x
    )
