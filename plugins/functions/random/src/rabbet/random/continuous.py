"""Draws from continuous distributions.

All take a single key and draw an array of ``shape``; ``dtype`` is float32 unless a float dtype is given.
Parameters broadcast to the shape, which is theirs if it is None.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from rabbet import config, dtypes, lax
from rabbet.extend.functions import fused, obeys_out_sharding
from rabbet.extend.transform import typeof
from rabbet.random.arguments import broadcast, common_shape, dtype_of, operand, parameter, shape_of
from rabbet.random.generator import above_zero, between, fine_unit, random_bits, unit
from rabbet.random.keys import subkeys, words_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from rabbet.typing import DTypeLike, Value

SQRT_2 = math.sqrt(2.0)


def tiny(dtype):
    """The least normal float."""
    return float(dtypes.finfo(dtype).tiny)


def epsilon(dtype):
    """The distance from 1 to the next float."""
    return float(dtypes.finfo(dtype).eps)


def after_minus_one(dtype):
    """The float next to -1, towards 0."""
    return -1.0 + epsilon(dtype) / 2


@obeys_out_sharding
def bits(
    key: Value, shape: int | Sequence[int] = (), dtype: DTypeLike | None = None, *, out_sharding: Any = None
) -> Value:
    """Random bits: every value of an unsigned integer dtype, by default uint32, is equally likely.

    Example:
      >>> random.bits(random.key(0), (2,)).dtype
      dtype('uint32')
    """
    return _bits(key, shape, dtype)


@fused(static=("shape", "dtype"))
def _bits(key, shape, dtype):
    shape = shape_of(shape, "bits")
    default = f"uint{dtypes.itemsize_bits(int)}"
    found = dtype_of(dtype, default, "u", "bits")
    return random_bits(words_of(key, "bits"), shape, dtypes.itemsize_bits(found))


@obeys_out_sharding
def uniform(
    key: Value,
    shape: int | Sequence[int] = (),
    dtype: DTypeLike | None = None,
    minval: Value = 0.0,
    maxval: Value = 1.0,
    *,
    out_sharding: Any = None,
) -> Value:
    """Numbers spread evenly over [minval, maxval).

    Raises:
      TypeError: if ``dtype`` is no float. ValueError: if a bound does not broadcast to ``shape``. A bound of
        one number may have dimensions where ``shape`` has none; the result has them then.

    Example:
      >>> random.uniform(random.key(0), (2,))
      Array([0.947667 , 0.9785799], dtype=float32)
      >>> random.uniform(random.key(0), (), minval=5.0, maxval=6.0).dtype
      dtype('float32')
    """
    if type(minval) is type(maxval) is float and minval == 0.0 and maxval == 1.0:
        return _unit(key, shape, dtype)
    found = dtype_of(dtype, float, "f", "uniform")
    return _uniform(key, parameter(minval, found), parameter(maxval, found), shape, found)


@fused(static=("shape", "dtype"))
def _unit(key, shape, dtype):
    shape = shape_of(shape, "uniform")
    return unit(words_of(key, "uniform"), shape, dtype_of(dtype, float, "f", "uniform"))


@fused(static=("shape", "dtype"))
def _uniform(key, minval, maxval, shape, dtype):
    shape = shape_of(shape, "uniform")
    bounds = operand(minval, dtype), operand(maxval, dtype)
    if shape == () and all(set(typeof(x).shape) <= {1} for x in bounds):
        shape = max((typeof(x).shape for x in bounds), key=len)
    low, high = (
        broadcast(x, shape, "uniform", what) for x, what in zip(bounds, ("minval", "maxval"), strict=True)
    )
    return between(unit(words_of(key, "uniform"), shape, dtype), low, high)


@obeys_out_sharding
@fused(static=("shape", "dtype"))
def normal(
    key: Value, shape: int | Sequence[int] = (), dtype: DTypeLike | None = None, *, out_sharding: Any = None
) -> Value:
    """Numbers of mean 0 and variance 1. With a complex dtype, real and imaginary part have variance 1/2
    each.

    Example:
      >>> random.normal(random.key(0), (2,))
      Array([1.6226422, 2.0252647], dtype=float32)
    """
    shape = shape_of(shape, "normal")
    dtype = dtype_of(dtype, float, "fc", "normal")
    words = words_of(key, "normal")
    if dtypes.kind(dtype) == "f":
        return gaussian(words, shape, dtype)
    part = np.dtype("float64" if dtype == np.complex128 else "float32")
    real, imag = (gaussian(w, shape, part) for w in subkeys(words, 2))
    return lax.div(lax.complex(real, imag), SQRT_2)


def gaussian(words, shape, dtype):
    """Normally distributed floats: the inverse of their distribution function at floats in (-1, 1)."""
    floats = unit(words, shape, dtype)
    low, high = operand(after_minus_one(dtype), dtype), operand(1.0, dtype)
    return lax.mul(lax.erf_inv(between(floats, low, high)), SQRT_2)


@obeys_out_sharding
def truncated_normal(
    key: Value,
    lower: Value,
    upper: Value,
    shape: int | Sequence[int] | None = None,
    dtype: DTypeLike | None = None,
    *,
    out_sharding: Any = None,
) -> Value:
    """Normal numbers that lie between ``lower`` and ``upper``.

    Example:
      >>> bool((abs(random.truncated_normal(random.key(0), -2.0, 2.0, (100,))) <= 2).all())
      True
    """
    found = dtype_of(dtype, float, "f", "truncated_normal")
    return _truncated_normal(key, parameter(lower, found), parameter(upper, found), shape, found)


@fused(static=("shape", "dtype"))
def _truncated_normal(key, lower, upper, shape, dtype):
    lower, upper = operand(lower, dtype), operand(upper, dtype)
    shape = common_shape(shape, "truncated_normal", lower, upper)
    lower, upper = (
        broadcast(x, shape, "truncated_normal", what) for x, what in ((lower, "lower"), (upper, "upper"))
    )
    low, high = (lax.erf(lax.div(x, SQRT_2)) for x in (lower, upper))
    floats = between(unit(words_of(key, "truncated_normal"), shape, dtype), low, high)
    out = lax.mul(lax.erf_inv(floats), SQRT_2)
    return lax.clamp(next_towards(lower, np.inf), out, next_towards(upper, -np.inf))


def next_towards(x, direction):
    """The next float after ``x`` in a direction, plus or minus infinity: its bits, read as an integer, plus
    or minus one.
    """
    dtype = typeof(x).dtype
    stored = np.dtype(f"int{dtypes.itemsize_bits(dtype)}")
    bits_of_x = lax.bitcast_convert_type(x, stored)
    step = 1 if direction > 0 else -1
    # Bits count the distance from zero: up for positive numbers, down for negative ones.
    outward = lax.bitcast_convert_type(lax.add(bits_of_x, step), dtype)
    inward = lax.bitcast_convert_type(lax.sub(bits_of_x, step), dtype)
    least = float(dtypes.finfo(dtype).smallest_subnormal) * step
    moved = lax.select_n(lax.lt(x, 0.0), outward, inward)
    moved = lax.select_n(lax.eq(x, 0.0), moved, lax.full_like(x, least))
    return lax.select_n(lax.eq(x, direction), moved, x)


@obeys_out_sharding
@fused(static=("shape", "dtype"))
def exponential(
    key: Value, shape: int | Sequence[int] = (), dtype: DTypeLike | None = None, *, out_sharding: Any = None
) -> Value:
    """Waiting times with mean 1.

    Example:
      >>> bool((random.exponential(random.key(0), (100,)) >= 0).all())
      True
    """
    dtype = dtype_of(dtype, float, "f", "exponential")
    return waiting_times(words_of(key, "exponential"), shape_of(shape, "exponential"), dtype)


def waiting_times(words, shape, dtype):
    """Exponentially distributed floats."""
    return lax.neg(lax.log1p(lax.neg(unit(words, shape, dtype))))


@obeys_out_sharding
@fused(static=("shape", "dtype", "mode"))
def gumbel(
    key: Value,
    shape: int | Sequence[int] = (),
    dtype: DTypeLike | None = None,
    mode: str | None = None,
    *,
    out_sharding: Any = None,
) -> Value:
    """The largest of many: numbers of distribution function exp(-exp(-x)).

    Args:
      mode: ``"low"``, or ``"high"`` for twice as many random bits, so that the far end of large numbers is
        drawn well; by default what ``config.high_dynamic_range_gumbel`` says.

    Example:
      >>> random.gumbel(random.key(0), (3,)).shape
      (3,)
    """
    dtype = dtype_of(dtype, float, "f", "gumbel")
    return gumbels(words_of(key, "gumbel"), shape_of(shape, "gumbel"), dtype, high_mode(mode, "gumbel"))


def high_mode(mode, who):
    """Whether ``mode`` is ``"high"``; None means what ``config.high_dynamic_range_gumbel`` says."""
    if mode not in (None, "low", "high"):
        raise ValueError(f"{who}: mode is 'low' or 'high', got {mode!r}")
    return config.high_dynamic_range_gumbel if mode is None else mode == "high"


def gumbels(words, shape, dtype, high=False):
    """Floats of the Gumbel distribution."""
    if high:
        return lax.neg(lax.log(lax.neg(lax.log1p(lax.neg(fine_unit(words, shape, dtype))))))
    return lax.neg(lax.log(lax.neg(lax.log(above_zero(words, shape, dtype, tiny(dtype))))))


@obeys_out_sharding
@fused(static=("shape", "dtype"))
def laplace(
    key: Value, shape: int | Sequence[int] = (), dtype: DTypeLike | None = None, *, out_sharding: Any = None
) -> Value:
    """Numbers of density exp(-|x|) / 2.

    Example:
      >>> random.laplace(random.key(0), (3,)).shape
      (3,)
    """
    shape = shape_of(shape, "laplace")
    dtype = dtype_of(dtype, float, "f", "laplace")
    floats = unit(words_of(key, "laplace"), shape, dtype)
    floats = between(floats, operand(after_minus_one(dtype), dtype), operand(1.0, dtype))
    return lax.mul(lax.sign(floats), lax.log1p(lax.neg(lax.abs(floats))))


@obeys_out_sharding
@fused(static=("shape", "dtype"))
def logistic(
    key: Value, shape: int | Sequence[int] = (), dtype: DTypeLike | None = None, *, out_sharding: Any = None
) -> Value:
    """Numbers of distribution function 1 / (1 + exp(-x)).

    Example:
      >>> random.logistic(random.key(0), (3,)).shape
      (3,)
    """
    shape = shape_of(shape, "logistic")
    dtype = dtype_of(dtype, float, "f", "logistic")
    floats = above_zero(words_of(key, "logistic"), shape, dtype, tiny(dtype))
    return lax.sub(lax.log(floats), lax.log1p(lax.neg(floats)))


@obeys_out_sharding
@fused(static=("shape", "dtype"))
def cauchy(
    key: Value, shape: int | Sequence[int] = (), dtype: DTypeLike | None = None, *, out_sharding: Any = None
) -> Value:
    """Numbers of density 1 / (pi (1 + x**2)).

    Example:
      >>> random.cauchy(random.key(0), (3,)).shape
      (3,)
    """
    shape = shape_of(shape, "cauchy")
    dtype = dtype_of(dtype, float, "f", "cauchy")
    floats = above_zero(words_of(key, "cauchy"), shape, dtype, epsilon(dtype))
    return lax.tan(lax.mul(lax.sub(floats, 0.5), math.pi))


@obeys_out_sharding
@fused(static=("shape", "dtype"))
def maxwell(
    key: Value, shape: int | Sequence[int] = (), dtype: DTypeLike | None = None, *, out_sharding: Any = None
) -> Value:
    """The lengths of vectors of three normal numbers.

    Example:
      >>> bool((random.maxwell(random.key(0), (100,)) > 0).all())
      True
    """
    sizes = shape_of(shape, "maxwell")
    dtype = dtype_of(dtype, float, "f", "maxwell")
    vectors = gaussian(words_of(key, "maxwell"), (*sizes, 3), dtype)
    return lax.sqrt(lax.reduce_sum(lax.mul(vectors, vectors), (len(sizes),)))


@obeys_out_sharding
def lognormal(
    key: Value,
    sigma: Value = 1.0,
    shape: int | Sequence[int] | None = None,
    dtype: DTypeLike | None = None,
    *,
    out_sharding: Any = None,
) -> Value:
    """Numbers whose logarithm is normal with standard deviation ``sigma``.

    Example:
      >>> bool((random.lognormal(random.key(0), shape=(100,)) > 0).all())
      True
    """
    found = dtype_of(dtype, float, "f", "lognormal")
    return _lognormal(key, parameter(sigma, found), shape, found)


@fused(static=("shape", "dtype"))
def _lognormal(key, sigma, shape, dtype):
    sigma = operand(sigma, dtype)
    shape = common_shape(shape, "lognormal", sigma)
    sigma = broadcast(sigma, shape, "lognormal", "sigma")
    return lax.exp(lax.mul(gaussian(words_of(key, "lognormal"), shape, dtype), sigma))


@obeys_out_sharding
def pareto(
    key: Value,
    b: Value,
    shape: int | Sequence[int] | None = None,
    dtype: DTypeLike | None = None,
    *,
    out_sharding: Any = None,
) -> Value:
    """Numbers from 1 on of distribution function 1 - x**-b.

    Example:
      >>> bool((random.pareto(random.key(0), 2.0, (100,)) >= 1).all())
      True
    """
    found = dtype_of(dtype, float, "f", "pareto")
    return _pareto(key, parameter(b, found), shape, found)


@fused(static=("shape", "dtype"))
def _pareto(key, b, shape, dtype):
    b = operand(b, dtype)
    shape = common_shape(shape, "pareto", b)
    times = waiting_times(words_of(key, "pareto"), shape, dtype)
    return lax.exp(lax.div(times, broadcast(b, shape, "pareto", "b")))


@obeys_out_sharding
def rayleigh(
    key: Value,
    scale: Value,
    shape: int | Sequence[int] | None = None,
    dtype: DTypeLike | None = None,
    *,
    out_sharding: Any = None,
) -> Value:
    """The lengths of vectors of two normal numbers of standard deviation ``scale``.

    Example:
      >>> bool((random.rayleigh(random.key(0), 1.0, (100,)) > 0).all())
      True
    """
    found = dtype_of(dtype, float, "f", "rayleigh")
    return _rayleigh(key, parameter(scale, found), shape, found)


@fused(static=("shape", "dtype"))
def _rayleigh(key, scale, shape, dtype):
    scale = operand(scale, dtype)
    shape = common_shape(shape, "rayleigh", scale)
    logs = lax.log(unit(words_of(key, "rayleigh"), shape, dtype))
    return lax.mul(lax.sqrt(lax.mul(logs, -2.0)), broadcast(scale, shape, "rayleigh", "scale"))


def weibull_min(
    key: Value,
    scale: Value,
    concentration: Value,
    shape: int | Sequence[int] = (),
    dtype: DTypeLike | None = None,
) -> Value:
    """Numbers of distribution function 1 - exp(-(x / scale) ** concentration).

    Example:
      >>> bool((random.weibull_min(random.key(0), 1.0, 2.0, (100,)) > 0).all())
      True
    """
    found = dtype_of(dtype, float, "f", "weibull_min")
    zero = isinstance(concentration, (int, float)) and concentration == 0
    exponent = parameter(math.copysign(math.inf, concentration) if zero else 1.0 / concentration, found)
    return _weibull_min(key, parameter(scale, found), exponent, shape, found)


@fused(static=("shape", "dtype"))
def _weibull_min(key, scale, exponent, shape, dtype):
    shape = shape_of(shape, "weibull_min")
    scale, exponent = (
        broadcast(operand(x, dtype), shape, "weibull_min", what)
        for x, what in ((scale, "scale"), (exponent, "concentration"))
    )
    times = waiting_times(words_of(key, "weibull_min"), shape, dtype)
    return lax.mul(lax.pow(times, exponent), scale)


@obeys_out_sharding
def triangular(
    key: Value,
    left: Value,
    mode: Value,
    right: Value,
    shape: int | Sequence[int] | None = None,
    dtype: DTypeLike | None = None,
    *,
    out_sharding: Any = None,
) -> Value:
    """Numbers between ``left`` and ``right`` whose density rises in a line up to ``mode`` and falls in a
    line after it.

    Example:
      >>> x = random.triangular(random.key(0), 0.0, 0.5, 1.0, (100,))
      >>> bool((x >= 0).all() & (x <= 1).all())
      True
    """
    found = dtype_of(dtype, float, "f", "triangular")
    return _triangular(key, *[parameter(x, found) for x in (left, mode, right)], shape, found)


@fused(static=("shape", "dtype"))
def _triangular(key, left, mode, right, shape, dtype):
    left, mode, right = (operand(x, dtype) for x in (left, mode, right))
    shape = common_shape(shape, "triangular", left, mode, right)
    left, mode, right = (
        broadcast(x, shape, "triangular", what)
        for x, what in ((left, "left"), (mode, "mode"), (right, "right"))
    )
    whole, rise, fall = lax.sub(right, left), lax.sub(mode, left), lax.sub(right, mode)
    floats = unit(words_of(key, "triangular"), shape, dtype)
    rising = lax.add(left, lax.sqrt(lax.mul(lax.mul(floats, whole), rise)))
    falling = lax.sub(right, lax.sqrt(lax.mul(lax.mul(lax.sub(1.0, floats), whole), fall)))
    return lax.select(lax.lt(floats, lax.div(rise, whole)), rising, falling)


__all__ = [
    "bits", "cauchy", "exponential", "gumbel", "laplace", "logistic", "lognormal", "maxwell", "normal",
    "pareto", "rayleigh", "triangular", "truncated_normal", "uniform", "weibull_min",
]  # fmt: skip
