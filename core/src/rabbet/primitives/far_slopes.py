"""Slopes of real functions by way of squares, which overflow and vanish where the slopes do not."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from rabbet import dtypes
from rabbet.primitives import convert, elementwise, logic, powers, zeros
from rabbet.primitives.elementwise import add, div, mul, neg, rsqrt
from rabbet.trace.interpreter import typeof

if TYPE_CHECKING:
    from rabbet.program.avals import ShapedArray
    from rabbet.typing import Value


def filled(aval: ShapedArray, number: float) -> Value:
    return zeros.full_of_type(aval.strong(), number)


def slope_of_asinh(x: Value, out: Value) -> Value:
    """``1 / sqrt(x * x + 1)``, which is ``1 / |x|`` from where 1 is less than a rounding of the square."""
    aval = typeof(x)
    one = filled(aval, 1)
    size = powers.abs(x)
    far = logic.gt(size, filled(aval, 2 / math.sqrt(float(dtypes.finfo(aval.dtype).eps))))
    near = logic.select_n(far, x, one)
    return logic.select_n(far, rsqrt(add(mul(near, near), 1.0)), div(1.0, logic.select_n(far, one, size)))


def over_square(y: Value, x: Value, out: Value, by: int) -> Value:
    """The slopes of ``atan2``: ``x / (x * x + y * y)`` by ``y``, the first operand, ``-y / (x * x + y * y)``
    by ``x``; one of them may be a Python number, of a dtype of its own. Large points are made smaller by a
    power of two before, small ones larger. At an infinite point the slopes are 0.
    """
    aval = typeof(out)
    y, x = [zeros.spread(convert.to_dtype(v, aval.dtype), aval.shape) for v in (y, x)]
    if aval.kind != "c":
        limit = dtypes.finfo(aval.dtype).maxexp
        edge, shift = 2.0 ** (limit * 15 // 32), 2.0 ** (limit * 45 // 64)
        sizes = [powers.abs(v) for v in (y, x)]
        large = logic.bitwise_or(*[logic.gt(v, filled(aval, edge)) for v in sizes])
        small = logic.bitwise_and(*[logic.lt(v, filled(aval, 1 / edge)) for v in sizes])
        scale = logic.select_n(small, filled(aval, 1), filled(aval, shift))
        scale = logic.select_n(large, scale, filled(aval, 1 / shift))
        y, x = mul(y, scale), mul(x, scale)
    square = add(mul(x, x), mul(y, y))
    slope = div(neg(y) if by else x, square)
    if aval.kind == "c":
        return slope
    endless = logic.eq(square, math.inf)
    return logic.select_n(endless, mul(slope, scale), filled(aval, 0))


elementwise.far_slopes.update(asinh=slope_of_asinh, atan2=over_square)

__all__ = ["over_square", "slope_of_asinh"]
