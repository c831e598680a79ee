"""New arrays: constants, ranges, grids, triangles, diagonals."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from rabbet import Array, config, dtypes, lax
from rabbet.errors import ConcretizationTypeError, ShapeError
from rabbet.extend.functions import fused, is_python_scalar, obeys_out_sharding, to_array, with_weak_type
from rabbet.extend.primitive import ShapedArray
from rabbet.extend.shapes import SymbolicDimension, dimension_of
from rabbet.extend.transform import Tracer, typeof
from rabbet.extend.wrapping import unknown
from rabbet.numpy.creation.conversion import asarray, on_device
from rabbet.numpy.reductions.reducing import converted, spread_to
from rabbet.numpy.support.arguments import all_arrays, axis_of, check, promote_to_float, shape_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rabbet.typing import DType, DTypeLike, Value


def default_float() -> DType:
    """The dtype of new arrays for which none was asked."""
    return dtypes.scalar_dtype(float)


# --------------------------------------------------------------------------------------------- constants
@obeys_out_sharding
def zeros(
    shape: int | Sequence[int],
    dtype: DTypeLike | None = None,
    *,
    device: Any = None,
    out_sharding: Any = None,
) -> Value:
    """An array of zeros, float32 if no dtype is given.

    Args:
      shape: an int or a tuple of ints.
      dtype: of the result.
      device: where to put it.
      out_sharding: the same, as a ``SingleDeviceSharding``.

    Example:
      >>> rnp.zeros((2, 2))
      Array([[0., 0.],
             [0., 0.]], dtype=float32)
    """
    return on_device(
        lax.full(shape_of("zeros", shape), 0, default_float() if dtype is None else dtype), device
    )


@obeys_out_sharding
def ones(
    shape: Any,
    dtype: DTypeLike | None = None,
    *,
    device: Any = None,
    out_sharding: Any = None,
) -> Value:
    """An array of ones, float32 if no dtype is given. Arguments as for ``zeros``.

    Example:
      >>> rnp.ones((2, 2), dtype="int32")
      Array([[1, 1],
             [1, 1]], dtype=int32)
    """
    return on_device(
        lax.full(shape_of("ones", shape), 1, default_float() if dtype is None else dtype), device
    )


@obeys_out_sharding
def empty(
    shape: Any, dtype: DTypeLike | None = None, *, device: Any = None, out_sharding: Any = None
) -> Value:
    """An array to be filled; here it holds zeros. Arguments as for ``zeros``.

    Example:
      >>> rnp.empty((2, 2)).shape
      (2, 2)
    """
    return zeros(shape, dtype, device=device)


@obeys_out_sharding
def full(
    shape: Any,
    fill_value: Value,
    dtype: DTypeLike | None = None,
    *,
    device: Any = None,
    out_sharding: Any = None,
) -> Value:
    """An array filled with a value: a number, or an array that broadcasts to ``shape``.

    Example:
      >>> rnp.full((2, 2), 7)
      Array([[7, 7],
             [7, 7]], dtype=int32, weak_type=True)
    """
    shape = shape_of("full", shape)
    check("full", fill_value)
    if typeof(fill_value).shape:
        return on_device(spread_to(asarray(fill_value, dtype), shape), device)
    return put(lax.full(shape, fill_value, dtype), device)


def put(x: Value, device: Any) -> Value:
    """``on_device``, and without a weak type: what is put somewhere on purpose is no number any more, as in
    JAX.
    """
    if device is not None and type(x) is Array and x.weak_type:
        x = with_weak_type(x, False)
    return on_device(x, device)


def like(name: str, a: Any, value: Value, dtype: type | None, shape: Any, device: Any) -> Value:
    """An array of one value with the shape and dtype of another, weak if that one is and nothing is asked
    for.
    """
    aval = described(name, a)
    shape = aval.shape if shape is None else shape_of(name, shape)
    if dtype is None and isinstance(aval.dtype, dtypes.ExtendedDType) and not typeof(value).shape:
        return on_device(lax.full(shape, value, aval.dtype), device)  # bits of keys, or a key
    if typeof(value).shape:
        return on_device(spread_to(asarray(value, aval.dtype if dtype is None else dtype), shape), device)
    if dtype is None and aval.weak_type:
        return put(lax.full_like(a, value, None, shape), device)
    return on_device(lax.full_like(a, value, aval.dtype if dtype is None else dtype, shape), device)


def described(name: str, a: Any) -> ShapedArray:
    """The type of an array, a number, or anything with a shape and a dtype."""
    known = isinstance(a, (np.ndarray, np.generic, Array))
    if not known and hasattr(a, "shape") and hasattr(a, "dtype"):
        return ShapedArray(tuple(a.shape), a.dtype, bool(getattr(a, "weak_type", False)))
    check(name, a)
    return typeof(a)


@obeys_out_sharding
def zeros_like(
    a: Value,
    dtype: DTypeLike | None = None,
    shape: Any = None,
    *,
    device: Any = None,
    out_sharding: Any = None,
) -> Value:
    """Zeros of the shape and dtype of ``a``, both of which can be changed.

    Example:
      >>> rnp.zeros_like(rnp.ones((2, 2), "int8")).dtype
      dtype('int8')
    """
    return like("zeros_like", a, 0, dtype, shape, device)


@obeys_out_sharding
def ones_like(
    a: Value,
    dtype: DTypeLike | None = None,
    shape: Any = None,
    *,
    device: Any = None,
    out_sharding: Any = None,
) -> Value:
    """Ones of the shape and dtype of ``a``, both of which can be changed.

    Example:
      >>> rnp.ones_like(rnp.arange(3))
      Array([1, 1, 1], dtype=int32)
    """
    return like("ones_like", a, 1, dtype, shape, device)


def empty_like(
    prototype: Value, dtype: DTypeLike | None = None, shape: Any = None, *, device: Any = None
) -> Value:
    """An array to be filled, like ``prototype``; here it holds zeros.

    Example:
      >>> rnp.empty_like(rnp.ones((2, 2), "int8")).dtype
      dtype('int8')
    """
    return like("empty_like", prototype, 0, dtype, shape, device)


@obeys_out_sharding
def full_like(
    a: Value,
    fill_value: Value,
    dtype: DTypeLike | None = None,
    shape: Any = None,
    *,
    device: Any = None,
    out_sharding: Any = None,
) -> Value:
    """An array of the shape and dtype of ``a`` filled with a value.

    Example:
      >>> rnp.full_like(rnp.arange(3), 7)
      Array([7, 7, 7], dtype=int32)
    """
    check("full_like", fill_value)
    return like("full_like", a, fill_value, dtype, shape, device)


# ------------------------------------------------------------------------------------------------ ranges
LENGTH = (
    "Compute it outside, or make the argument static (static_argnames). For a length that varies, take the "
    "largest and a mask (rabbet.numpy.where(rabbet.numpy.arange(most) < n, x, 0))."
)


def known(name: str, value: Value) -> Any:
    """A bound of a range: its values decide a shape, so it must be known.

    Raises:
      ConcretizationTypeError: for a tracer.
    """
    if type(value) is int or type(value) is float:
        return value
    if type(value) is Tracer:
        raise ConcretizationTypeError(
            f"{name}: the length of the result depends on the value of {unknown(value, LENGTH)}"
        )
    check(name, value)
    if typeof(value).shape:
        raise ShapeError(f"{name} takes numbers, got {typeof(value).str_short()}")
    return value if is_python_scalar(value) else np.asarray(value)[()]


@obeys_out_sharding
def arange(
    start: Value,
    stop: Value | None = None,
    step: Value | None = None,
    dtype: DTypeLike | None = None,
    *,
    device: Any = None,
    out_sharding: Any = None,
) -> Value:
    """The numbers from ``start`` up to, not including, ``stop``, ``step`` apart; ``arange(n)`` counts from
    0.

    Args:
      start, stop, step: numbers, known while tracing.
      dtype: of the result; by default the common one of the arguments.

    Raises:
      ConcretizationTypeError: for a traced argument.
      ZeroDivisionError: for a step of zero.

    Example:
      >>> rnp.arange(2, 10, 3)
      Array([2, 5, 8], dtype=int32)
      >>> rnp.arange(3.0)
      Array([0., 1., 2.], dtype=float32)
    """
    if any(isinstance(v, SymbolicDimension) for v in (start, stop, step)):
        return on_device(of_symbolic_length(start, stop, step, dtype), device)
    given = [known("arange", v) for v in (start, stop, step) if v is not None]
    asked, dtype = dtype, dtypes.result_type(*given) if dtype is None else dtypes.canonicalize(dtype)
    if (asked is not None or dtypes.kind(dtype) == "c") and any(map(is_complex, given)):
        raise TypeError(f"arange: complex numbers have no order, got {given}")
    if stop is None:
        start, stop = 0, start
    step = 1 if step is None else step
    lo, hi, by = (v if is_python_scalar(v) else np.asarray(v).item() for v in (start, stop, step))
    if all(isinstance(v, int) for v in (lo, hi, by)) and dtypes.kind(dtype) in "iu":
        return on_device(whole_numbers(range(lo, hi, by) if by else zero_step(), dtype), device)
    if by == 0:
        zero_step()
    host = np.arange(lo, hi, by, dtype=dtype if dtypes.kind(dtype) != "b" and dtype.kind != "V" else None)
    if all(is_python_scalar(v) for v in given):  # no array of the caller's is moved
        with config.override(transfer_guard_host_to_device=None):
            return asarray(dtypes.host_cast(host, dtype), dtype, device=device)
    return asarray(dtypes.host_cast(host, dtype), dtype, device=device)


def is_complex(value: Value) -> bool:
    return dtypes.kind(typeof(value).dtype) == "c"


def of_symbolic_length(start: Any, stop: Any, step: Any, dtype: Any) -> Any:
    """A range of whole numbers some of which are symbolic dimensions."""
    if stop is None:
        start, stop = 0, start
    start, stop, step = (dimension_of(v) for v in (start, stop, 1 if step is None else step))
    if isinstance(step, SymbolicDimension) or step == 0:
        raise ValueError(f"arange: the step is a number other than 0 beside symbolic dimensions, got {step}")
    count = -((start - stop) // step)
    count = count.at_least(0) if isinstance(count, SymbolicDimension) else max(count, 0)
    dtype = dtypes.scalar_dtype(int) if dtype is None else dtypes.canonicalize(dtype)
    return scaled(lax.iota(dtype, count), asarray(step, dtype), asarray(start, dtype))


def zero_step() -> Any:
    """The error for a range that does not move."""
    raise ZeroDivisionError("arange: the step is zero, so the range never ends")


def whole_numbers(numbers: Any, dtype: DType) -> Value:
    """A Python range as an array, counted on the device."""
    if numbers.step < 0 and dtypes.kind(dtype) == "u":  # the step itself is none of its numbers
        return lax.rev(whole_numbers(numbers[::-1], dtype), (0,))
    out = lax.iota(dtype, len(numbers))
    if numbers.start == 0 and numbers.step == 1:
        return out
    typed = (dtypes.numpy_scalar(n, dtype) for n in (numbers.step, numbers.start))
    step, start = (to_array(n, dtype=dtype) for n in typed)
    return scaled(out, step, start)


@fused
def scaled(counted: Value, step: Value, start: Value) -> Value:
    """``counted * step + start``, all of one dtype, wrapping round as integers do."""
    return lax.add(lax.mul(counted, step), start)


def linspace(
    start: Value,
    stop: Value,
    num: int = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: DTypeLike | None = None,
    axis: int = 0,
    *,
    device: Any = None,
) -> Any:
    """``num`` evenly spaced numbers from ``start`` to ``stop``.

    Args:
      start, stop: numbers or arrays, which broadcast.
      num: how many, a static int.
      endpoint: whether ``stop`` is the last of them.
      retstep: also return the distance between two, floating; NaN, without dimensions, if there are no two.
      dtype: of the result; integers are rounded down.
      axis: the new dimension's place in the result.
      device: where to put it.

    Raises:
      ValueError: for a negative ``num``.

    Example:
      >>> rnp.linspace(0.0, 1.0, 5)
      Array([0.  , 0.25, 0.5 , 0.75, 1.  ], dtype=float32)
    """
    if retstep:
        out, step = evenly_spaced(start, stop, num, endpoint, True, dtype, axis)
        return on_device(out, device), step
    return on_device(evenly_spaced(start, stop, num, endpoint, False, dtype, axis), device)


@fused(static=("num", "endpoint", "retstep", "dtype", "axis"))
def evenly_spaced(
    start: Value, stop: Value, num: int, endpoint: bool, retstep: bool, dtype: DType | str | None, axis: int
) -> tuple[Value, ...] | Value:
    """``linspace`` without a device."""
    num = dimension_of(num)
    if num < 0:
        raise ShapeError(f"linspace: num must not be negative, got {num}")
    check("linspace", start, stop)
    inside = dtypes.to_inexact(dtypes.result_type(start, stop))
    wanted = inside if dtype is None else dtypes.canonicalize(dtype)
    if dtypes.itemsize_bits(inside) < 32:  # the weights of half types and smaller ones would be rounded
        inside = np.dtype("float32")
    start, stop = converted(start, inside), converted(stop, inside)
    shape = lax.broadcast_shapes(start.aval.shape, stop.aval.shape)
    start, stop = spread_to(start, shape), spread_to(stop, shape)
    gaps = num - 1 if endpoint else num
    step = lax.div(lax.sub(stop, start), float(gaps)) if gaps > 0 else lax.full((), math.nan, inside)
    if num > 1:
        out = between(start, stop, num, gaps, endpoint)
    else:
        out = spread_to(start, (num, *shape))
    if dtypes.kind(wanted) in "iu" and dtypes.kind(inside) == "f":
        out = lax.floor(out)
    at = axis_of("linspace", axis, len(shape) + 1)
    out = lax.transpose(out, (*range(1, at + 1), 0, *range(at + 1, len(shape) + 1)))
    out = converted(out, wanted)
    if not retstep:
        return out
    of_step = wanted if dtypes.kind(wanted) in "fc" else inside  # it is no whole number
    return out, converted(step, of_step)


def between(start: Value, stop: Value, num: int, gaps: int, endpoint: bool) -> Value:
    """The weighted means of both ends, along a new first dimension; the last one is the end itself."""
    shape, dtype = start.aval.shape, start.aval.dtype
    real = dtype if dtypes.kind(dtype) == "f" else np.dtype(f"float{4 * dtype.itemsize}")
    counted = lax.div(lax.convert_element_type(lax.iota("int32", num), real), float(gaps))
    weight = lax.broadcast_in_dim(converted(counted, dtype), (num, *shape), (0,))
    low, high = spread_to(start, (num, *shape)), spread_to(stop, (num, *shape))
    out = lax.add(lax.mul(low, lax.sub(1.0, weight)), lax.mul(high, weight))
    if not endpoint:
        return out
    return lax.concatenate([lax.slice_in_dim(out, 0, num - 1), lax.expand_dims(stop, (0,))], 0)


@fused(static=("num", "endpoint", "dtype", "axis"))
def logspace(
    start: Value,
    stop: Value,
    num: int = 50,
    endpoint: bool = True,
    base: Value = 10.0,
    dtype: DTypeLike | None = None,
    axis: int = 0,
) -> Value:
    """``base`` to the power of ``num`` evenly spaced numbers from ``start`` to ``stop``.

    Example:
      >>> rnp.logspace(0, 2, 3)
      Array([  1.,  10., 100.], dtype=float32)
    """
    powers = linspace(start, stop, num, endpoint, axis=axis)
    base, powers = promote_to_float("logspace", base, powers)
    out = lax.pow(spread_to(converted(base, powers.aval.dtype), powers.aval.shape), powers)
    return out if dtype is None else converted(out, dtypes.canonicalize(dtype))


@fused(static=("num", "endpoint", "dtype", "axis"))
def geomspace(
    start: Value,
    stop: Value,
    num: int = 50,
    endpoint: bool = True,
    dtype: DTypeLike | None = None,
    axis: int = 0,
) -> Value:
    """``num`` numbers from ``start`` to ``stop``, each the same multiple of the one before; both ends of
    one sign.

    Example:
      >>> rnp.geomspace(1, 1000, 4)
      Array([1.0000000e+00, 1.0000000e+01, 1.0000001e+02, 1.0000001e+03],
            dtype=float32)
    """
    start, stop = all_arrays(promote_to_float("geomspace", start, stop))
    sign = lax.sign(start)
    # Divided by a number of length 1: multiplied by its conjugate, which of a real one is itself.
    back = lax.conj(sign) if dtypes.kind(typeof(sign).dtype) == "c" else sign
    logs = linspace(lax.log(lax.mul(start, back)), lax.log(lax.mul(stop, back)), num, endpoint, axis=0)
    out = lax.mul(lax.exp(logs), spread_to(sign, logs.aval.shape))
    at = axis_of("geomspace", axis, out.ndim)
    out = lax.transpose(out, (*range(1, at + 1), 0, *range(at + 1, out.ndim)))
    return out if dtype is None else converted(out, dtypes.canonicalize(dtype))


__all__ = [
    "arange",
    "empty",
    "empty_like",
    "full",
    "full_like",
    "geomspace",
    "linspace",
    "logspace",
    "ones",
    "ones_like",
    "zeros",
    "zeros_like",
]
