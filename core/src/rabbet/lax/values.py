"""Dtypes and values: conversion, selection between two arrays, rounding, static powers."""

from __future__ import annotations

import enum
import operator
from typing import TYPE_CHECKING, Any

import numpy as np

from rabbet import dtypes, tree
from rabbet.errors import DTypeError
from rabbet.lax.array_types import ArrayLike, ArrayOrTracer, DTypeLike
from rabbet.primitives import convert, elementwise, logic, powers
from rabbet.primitives.extended_dtypes import from_physical, to_physical
from rabbet.program import python_scalars
from rabbet.program.dimensions import SymbolicDimension
from rabbet.runtime.arrays import values
from rabbet.runtime.arrays.array import Array
from rabbet.runtime.arrays.values import to_array
from rabbet.trace.interpreter import typeof

if TYPE_CHECKING:
    from rabbet.typing import Value


class RoundingMethod(enum.IntEnum):
    """How ``round`` breaks ties.

    Example:
      >>> lax.round(rnp.array([0.5, 1.5]), lax.RoundingMethod.TO_NEAREST_EVEN)
      Array([0., 2.], dtype=float32)
    """

    AWAY_FROM_ZERO = 0
    TO_NEAREST_EVEN = 1


def convert_element_type(operand: ArrayLike, new_dtype: DTypeLike) -> Value:
    """``operand`` as ``new_dtype``, elementwise; complex to real drops the imaginary part.

    Example:
      >>> lax.convert_element_type(rnp.array([1.7, -1.7]), "int32")
      Array([ 1, -1], dtype=int32)
    """
    if new_dtype is None:
        raise DTypeError("convert_element_type needs a dtype, got None")
    number = new_dtype in (int, float, complex) and not isinstance(new_dtype, np.dtype)
    return in_type(operand, dtypes.scalar_dtype(new_dtype) if number else dtypes.requested(new_dtype), False)


def in_type(operand: ArrayLike, dtype: Any, weak: bool) -> ArrayOrTracer:
    """``operand`` in a dtype, with a weak type or without one."""
    if isinstance(operand, SymbolicDimension):
        operand = operand.__jax_array__()
    aval = typeof(operand)
    if aval.dtype == dtype and aval.weak_type == weak and hasattr(operand, "aval"):
        return operand
    if isinstance(dtype, dtypes.ExtendedDType) and dtype.encode is not None and not aval.is_extended:
        stored = dtype.encode(operand if hasattr(operand, "aval") else to_array(operand))
        return from_physical(stored, dtype=dtype)
    if aval.is_extended and aval.dtype.decode is not None and aval.dtype != dtype:
        return in_type(aval.dtype.decode(to_physical(operand)), dtype, weak)
    if isinstance(operand, np.ndarray) and operand.dtype != aval.dtype and dtypes.kind(dtype) in "biufc":
        # 64 bits, whose dtype is asked for by name: not narrowed on the way.
        real = operand.dtype.kind == "c" and dtypes.kind(dtype) != "c"
        host = operand.real if real else operand
        return to_array(dtypes.host_cast(host, dtype), dtype=dtype)
    if not hasattr(operand, "aval") and not aval.shape and dtypes.kind(dtype) != "V":
        operand = python_scalars.typed(
            dtypes.numpy_scalar(python_scalars.modulo(operand, dtype, asked=True), dtype)
            if isinstance(operand, int)
            else operand,
            dtype,
        )
    return convert.convert_element_type(operand, new_dtype=dtype, weak_type=weak)


def with_weak_type(operand: ArrayLike, weak: bool = True, dtype: Any = None) -> ArrayOrTracer:
    """``operand`` with a weak type, or without one; an array keeps its memory, unless another dtype is asked
    for.

    Example:
      >>> from rabbet.extend.functions import with_weak_type
      >>> x = rb.device_put(np.float32(1))
      >>> with_weak_type(x).weak_type, with_weak_type(2.0, False).weak_type
      (True, False)
    """
    if dtype is not None and (dtype != typeof(operand).dtype or not hasattr(operand, "aval")):
        return in_type(operand, dtype, weak)
    if type(operand) is Array:
        return values.with_weak_type(operand, weak)
    aval = typeof(operand)
    if aval.weak_type == weak:
        return operand
    return convert.convert_element_type(operand, new_dtype=aval.dtype, weak_type=weak)


def bitcast_convert_type(operand: ArrayLike, new_dtype: DTypeLike) -> Value:
    """The bits of ``operand`` read as ``new_dtype``; a narrower dtype adds a last dimension, a wider one
    consumes it.

    Example:
      >>> lax.bitcast_convert_type(rnp.array([1.0]), "int32")
      Array([1065353216], dtype=int32)
    """
    return convert.bitcast_convert_type(operand, new_dtype=dtypes.requested(new_dtype))


def reduce_precision(operand: ArrayLike, exponent_bits: int, mantissa_bits: int) -> Value:
    """``operand`` rounded to a floating format with fewer bits, kept in its own dtype.

    Example:
      >>> lax.reduce_precision(rnp.array([1.2345678]), exponent_bits=8, mantissa_bits=7)
      Array([1.234375], dtype=float32)
    """
    return convert.reduce_precision(
        operand, exponent_bits=operator.index(exponent_bits), mantissa_bits=operator.index(mantissa_bits)
    )


def select(pred: ArrayLike, on_true: ArrayLike, on_false: ArrayLike) -> Value:
    """``on_true`` where ``pred`` holds, else ``on_false``.

    Example:
      >>> lax.select(rnp.array([True, False]), rnp.array([1, 2]), rnp.array([3, 4]))
      Array([1, 4], dtype=int32)
    """
    return logic.select_n(pred, on_false, on_true)


def stage(x: ArrayLike) -> Any:
    """``x`` itself, as a value of the program that is being traced; outside of one, as an array.

    Example:
      >>> lax.stage(rnp.arange(3))
      Array([0, 1, 2], dtype=int32)
    """
    aval = typeof(x)
    return convert.convert_element_type(x, new_dtype=aval.dtype, weak_type=aval.weak_type)


def stop_gradient(x: Value) -> Any:
    """``x`` (a pytree of arrays) with derivative zero.

    Example:
      >>> rb.grad(lambda x: x * lax.stop_gradient(x))(3.0)
      Array(3., dtype=float32, weak_type=True)
    """
    return tree.map(convert.stop_gradient, x)


def integer_pow(x: ArrayLike, y: int) -> Value:
    """``x ** y`` for a static int ``y``, by repeated squaring.

    Example:
      >>> lax.integer_pow(rnp.array([2.0, 3.0]), 3)
      Array([ 8., 27.], dtype=float32)
    """
    return powers.integer_pow(x, y=operator.index(y))


def reciprocal(x: ArrayLike) -> Value:
    """``1 / x``.

    Example:
      >>> lax.reciprocal(rnp.array([2.0, 4.0]))
      Array([0.5 , 0.25], dtype=float32)
    """
    return powers.integer_pow(x, y=-1)


def round(x: ArrayLike, rounding_method: Any = RoundingMethod.AWAY_FROM_ZERO) -> Value:
    """``x`` rounded to whole numbers, in its own dtype.

    Example:
      >>> lax.round(rnp.array([0.5, 2.5]), lax.RoundingMethod.TO_NEAREST_EVEN)
      Array([0., 2.], dtype=float32)
    """
    if RoundingMethod(rounding_method) is RoundingMethod.TO_NEAREST_EVEN:
        return elementwise.round_even(x)
    return elementwise.round_away(x)
