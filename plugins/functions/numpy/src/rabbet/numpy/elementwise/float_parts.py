"""Floats taken apart and put together: significand and exponent, neighbours and their distance.
Besides, ``i0`` and ``unwrap``.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from rabbet_custom_rules import custom_rules

from rabbet import dtypes, lax
from rabbet.errors import DTypeError
from rabbet.extend.functions import fused, with_weak_type
from rabbet.extend.transform import typeof
from rabbet.numpy.elementwise.arithmetic import remainder
from rabbet.numpy.reductions.reducing import converted, spread_to
from rabbet.numpy.support.arguments import as_array, axis_of, check, kind_of, promote_to_float

if TYPE_CHECKING:
    from rabbet.typing import DType, Value


def real_floats(name: str, *operands: Value) -> list[Value]:
    """Operands in one float dtype and shape, as arrays."""
    out = promote_to_float(name, *operands)
    if any(kind_of(x) == "c" for x in out):
        raise DTypeError(f"{name} is not defined on complex numbers")
    full = lax.broadcast_shapes(*[typeof(x).shape for x in out])
    # Without jit arrays of NumPy's come as they are.
    out = [as_array(x) if isinstance(x, (np.ndarray, np.generic)) else x for x in out]
    first = next(x for x in out if hasattr(x, "aval"))
    return [
        x if hasattr(x, "aval") and x.shape == full else
        lax.full(full, x, first.dtype) if not hasattr(x, "aval") else spread_to(x, full)
        for x in out
    ]  # fmt: skip


def layout(dtype: DType) -> tuple[int | DType, ...]:
    """(dtype of the bits, width of the significand, largest exponent) of a float dtype."""
    info = dtypes.finfo(dtype)
    bits = np.dtype(f"int{dtypes.itemsize_bits(dtype)}")
    return bits, int(info.nmant), int(info.maxexp)


@fused
def frexp(x: Value, /) -> tuple[Value, ...]:
    """``(m, e)`` with ``x == m * 2 ** e`` and ``0.5 <= |m| < 1``, or both 0 for zero.

    Args:
      x: real numbers; integers become floats.

    Returns:
      significands in the dtype of ``x``, and exponents, int32. Infinities and NaN are their own significands,
      with the exponent 0. Denormal numbers are told from their bits.

    Raises:
      TypeError: for complex numbers.

    Example:
      >>> rnp.frexp(rnp.array([6.0, 0.5]))
      (Array([0.75, 0.5 ], dtype=float32), Array([3, 0], dtype=int32))
    """
    (x,) = real_floats("frexp", x)
    dtype = x.dtype
    # float16 and bfloat16 are taken apart as what holds all of them.
    wide = dtype if dtypes.itemsize_bits(dtype) >= 32 else np.dtype("float32")
    y = converted(x, wide)
    words, width, most = layout(wide)
    bits = lax.bitcast_convert_type(y, words)
    sign = lax.bitwise_and(bits, lax.full_like(bits, np.iinfo(words).min))
    field = lax.bitwise_and(lax.shift_right_logical(bits, width), 2 * most - 1)
    fraction = lax.bitwise_and(bits, lax.full_like(bits, (1 << width) - 1))
    # A denormal number is its fraction, a whole number, on a fixed scale.
    whole = converted(fraction, wide)
    whole_bits = lax.bitcast_convert_type(whole, words)
    denormal = lax.bitwise_and(lax.eq(field, 0), lax.ne(fraction, 0))
    own = lax.bitwise_and(lax.shift_right_logical(whole_bits, width), 2 * most - 1)
    least = 3 - most - width - 1  # the exponent of the smallest denormal number
    exponent = lax.select(denormal, lax.add(own, least - (most - 1)), lax.sub(field, most - 1))
    exponent = lax.add(exponent, 1)
    kept = lax.select(denormal, lax.bitwise_and(whole_bits, lax.full_like(bits, (1 << width) - 1)), fraction)
    half = (most - 2) << width
    bits = lax.bitwise_or(lax.bitwise_or(sign, kept), lax.full_like(bits, half))
    significand = lax.bitcast_convert_type(bits, wide)
    plain = lax.bitwise_or(
        lax.bitwise_and(lax.eq(field, 0), lax.eq(fraction, 0)), lax.eq(field, 2 * most - 1)
    )
    # Bits have no derivative; that of the significand is its share of the number. `1 + (y - y) / y` is 1
    # also on GPUs, where `y / y` need not be.
    usual = lax.bitwise_not(lax.bitwise_or(plain, denormal))
    fixed = lax.stop_gradient(y)
    change = lax.div(lax.sub(y, fixed), lax.select(usual, fixed, lax.full_like(y, 1)))
    significand = lax.select(usual, lax.mul(significand, lax.add(change, 1)), significand)
    significand = converted(lax.select(plain, y, significand), dtype)
    exponent = converted(lax.select(plain, lax.full_like(exponent, 0), exponent), np.dtype("int32"))
    return significand, exponent


@fused
def ldexp(x1: Value, x2: Value, /) -> Value:
    """``x1 * 2 ** x2``, also where ``2 ** x2`` alone would be out of range.

    Args:
      x1: real numbers.
      x2: integers.

    Raises:
      ValueError: if ``x2`` holds no integers, or ``x1`` is complex.

    Example:
      >>> rnp.ldexp(rnp.array([1.0, 0.75]), rnp.array([3, 2]))
      Array([8., 3.], dtype=float32)
    """
    check("ldexp", x1, x2)
    if kind_of(x2) not in "biu" or kind_of(x1) == "c":
        raise ValueError(
            f"ldexp takes real numbers and integer exponents, got {typeof(x1).str_short()} and "
            f"{typeof(x2).str_short()}"
        )
    dtype = dtypes.to_inexact(dtypes.result_type(x1))
    shape = lax.broadcast_shapes(typeof(x1).shape, typeof(x2).shape)
    _, _, most = layout(dtype)
    if dtypes.itemsize_bits(typeof(x2).dtype) >= 32:  # int32 may not hold it
        x2 = lax.min(x2, 3 * most) if kind_of(x2) == "u" else lax.clamp(-3 * most, x2, 3 * most)
    x, e = spread_to(converted(x1, dtype), shape), spread_to(lax.convert_element_type(x2, "int32"), shape)
    # Three steps of which each is in range: as far as any number can go, from the smallest to the largest.
    e = lax.clamp(-3 * most, e, 3 * most)
    for _ in range(3):
        step = lax.clamp(2 - most, e, most - 1)
        x, e = lax.mul(x, power_of_two(step, dtype)), lax.sub(e, step)
    return x


def power_of_two(e: Value, dtype: DType) -> Value:
    """``2 ** e`` for integers in the range of normal numbers, from its bits."""
    wide = dtype if dtypes.itemsize_bits(dtype) >= 32 else np.dtype("float32")
    words, width, most = layout(wide)
    bits = lax.shift_left(lax.add(lax.convert_element_type(e, words), most - 1), width)
    return converted(lax.bitcast_convert_type(bits, wide), dtype)


@fused
def nextafter(x: Value, y: Value, /) -> Value:
    """The next float after ``x`` towards ``y``; ``y`` where both are equal, NaN where one is.

    Raises:
      TypeError: for complex numbers.

    Example:
      >>> rnp.nextafter(1.0, 2.0) - 1.0
      Array(1.1920929e-07, dtype=float32, weak_type=True)
    """
    weak = dtypes.promote(x, y)[1]
    x, y = real_floats("nextafter", x, y)
    out = lax.nextafter(x, y)
    return with_weak_type(out) if weak else out


@fused
def spacing(x: Value, /) -> Value:
    """The distance from ``x`` to the next float away from zero, with the sign of ``x``; NaN for infinities.

    Raises:
      TypeError: for complex numbers.

    Example:
      >>> rnp.spacing(rnp.array([1.0, 1024.0]))
      Array([1.1920929e-07, 1.2207031e-04], dtype=float32)
    """
    (x,) = real_floats("spacing", x)
    x = converted(x, x.dtype)
    away = lax.select(lax.lt(x, 0.0), lax.full_like(x, -math.inf), lax.full_like(x, math.inf))
    gap = lax.sub(lax.nextafter(x, away), x)
    # Around denormal numbers the distance is one, which arithmetic takes for zero; the bits do not.
    words, width, _ = layout(x.dtype)
    bits = lax.bitcast_convert_type(x, words)
    size = lax.bitwise_and(bits, lax.full_like(bits, np.iinfo(words).max))
    sign = lax.bitwise_and(bits, lax.full_like(bits, np.iinfo(words).min))
    sign = lax.select(lax.eq(size, 0), size, sign)  # that of zero counts as plus
    # The distance is a denormal number for exponents up to the width of the significand.
    field = lax.shift_right_logical(size, width)
    shift = lax.max(lax.sub(field, 1), 0)
    low = lax.lt(field, width + 1)
    shift = lax.select(low, shift, lax.full_like(shift, 0))
    small = lax.bitwise_or(sign, lax.shift_left(lax.full_like(bits, 1), shift))
    small = lax.bitcast_convert_type(small, x.dtype)
    return lax.select(lax.bitwise_and(low, lax.eq(x, x)), small, gap)


@fused
def i0(x: Value) -> Value:
    """The modified Bessel function of the first kind and order 0.

    Args:
      x: real numbers; integers become floats.

    Example:
      >>> rnp.i0(rnp.array([0.0, 1.0]))
      Array([1.0000001, 1.2660658], dtype=float32)
    """
    weak = typeof(x).weak_type
    (x,) = real_floats("i0", x)
    out = bessel_i0(x)
    return with_weak_type(out) if weak else out


@custom_rules
def bessel_i0(x: Value) -> Value:
    """``i0`` of floats."""
    return unscaled(lax.bessel_i0e(x), lax.abs(x))


@bessel_i0.def_rule("jvp")
def bessel_i0_jvp(primals: tuple[Value, ...], tangents: tuple[Value, ...]) -> tuple[Value, ...]:
    """By the function of order 1: of the scaled ones the large terms would cancel."""
    (x,), (t,) = primals, tangents
    modulus = lax.mul(x, lax.sign(x))  # whose slope at 0 is 0
    return bessel_i0(x), lax.mul(t, unscaled(lax.bessel_i1e(x), modulus))


def unscaled(scaled: Value, modulus: Value) -> Value:
    """``scaled * exp(modulus)``, in two steps: the exponential alone is infinite before the product is."""
    half = lax.exp(lax.mul(modulus, 0.5))
    return lax.mul(lax.mul(half, scaled), half)


@fused(static=("axis", "period"))
def unwrap(p: Value, discont: Value | None = None, axis: int = -1, period: Value = 2 * math.pi) -> Value:
    """``p`` with multiples of ``period`` added so that neighbours along ``axis`` differ by half of it at
    most.

    Args:
      p: an array of real numbers.
      discont: differences below this stay as they are, if it is more than half a period.
      axis: along which.
      period: a number.

    Returns:
      an array of the common dtype of ``p`` and ``period``.

    Example:
      >>> rnp.unwrap(rnp.array([0.0, 3.0, -3.0]))
      Array([0.       , 3.       , 3.2831855], dtype=float32)
    """
    check("unwrap", p)
    dtype = dtypes.result_type(p, period)
    if dtypes.kind(dtype) == "c":
        raise DTypeError(f"unwrap does not support complex numbers, got {typeof(p).str_short()}")
    if discont is not None:
        dtype = dtypes.result_type(dtype, discont)
    p = converted(as_array(p), dtype)
    axis = axis_of("unwrap", axis, p.ndim)
    n = p.shape[axis]
    if n < 2:
        return p
    whole = dtypes.kind(dtype) in "iu"
    half = period // 2 if whole else period / 2
    step = lax.sub(lax.slice_in_dim(p, 1, n, axis=axis), lax.slice_in_dim(p, 0, n - 1, axis=axis))
    low = lax.full_like(step, -half)
    inside = lax.add(remainder(lax.sub(step, low), lax.full_like(step, period)), low)
    boundary = lax.bitwise_and(lax.eq(inside, low), lax.gt(step, lax.full_like(step, 0)))
    if not whole or period % 2 == 0:
        inside = lax.select(boundary, lax.full_like(step, half), inside)
    correction = lax.sub(inside, step)
    least = half if discont is None else discont
    small = lax.lt(lax.abs(step), lax.convert_element_type(spread_to(least, step.shape), dtype))
    correction = lax.cumsum(lax.select(small, lax.full_like(step, 0), correction), axis)
    config = [(0, 0, 0)] * p.ndim
    config[axis] = (1, 0, 0)
    return lax.add(p, lax.pad(correction, np.zeros((), dtype), config))


__all__ = ["frexp", "i0", "ldexp", "nextafter", "spacing", "unwrap"]
