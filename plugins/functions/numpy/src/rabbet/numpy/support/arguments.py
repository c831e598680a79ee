"""What functions accept, checked in one place: arrays and numbers, axes, shapes, dtypes.

An argument is an array, a tracer, a NumPy array or a number. Lists are refused, as in JAX: converting
one costs a transfer for each element, which a call should not hide.
"""

from __future__ import annotations

import functools
import inspect
import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from rabbet import dtypes, lax, tree
from rabbet.errors import AxisError, ConcretizationTypeError
from rabbet.extend.functions import (
    broadcast_operands,
    is_array_like,
    is_python_scalar,
    promote_operands,
    with_weak_type,
)
from rabbet.extend.rules import axis_in_range
from rabbet.extend.shapes import dimension_of, exceeds
from rabbet.extend.transform import typeof
from rabbet.extend.wrapping import comparable, exact_integers

if TYPE_CHECKING:
    from rabbet.typing import DType, Value


def check(name: Any, *values: Any) -> None:
    """Refuse what is neither an array nor a number.

    Raises:
      TypeError: naming the function and the argument.
    """
    for i, x in enumerate(values):
        if not is_array_like(x):
            advice = (
                f"; make it an array first, as in {name}(array(x))" if isinstance(x, (list, tuple)) else ""
            )
            raise TypeError(
                f"{name} takes arrays and numbers, got a {type(x).__name__} as argument {i + 1}{advice}"
            )


def promote(name: str, *values: Value) -> list[Value]:
    """The values in their common dtype and shape; numbers beside arrays stay numbers."""
    check(name, *values)
    return promote_operands(*values)


def compared(name: str, x: Value, y: Value) -> Any:
    """Two operands in one shape and in a dtype in which they compare as the numbers that they are."""
    check(name, x, y)
    return broadcast_operands(comparable(x, y))


def promote_to_float(name: str, *values: Value) -> Any:
    """The values in their common dtype, made a float if it is none, and common shape."""
    check(name, *values)
    dtype, weak = dtypes.promote(*values)
    if dtypes.kind(dtype) not in "fc":
        dtype = dtypes.to_inexact(dtype)
    return in_dtype(values, dtype, weak)


def comparison_dtype(*arrays: Any) -> Any:
    """The dtype in which arrays are compared: their common one, or the integers that hold all of theirs."""
    found = [typeof(x).dtype for x in arrays if not is_python_scalar(x)]
    exact = exact_integers(*found) if len(found) == 2 else None
    common = dtypes.result_type(*arrays)
    return common if exact is None or exact.kind not in "iu" else exact


def in_dtype(values: Any, dtype: Any, weak: Any = False) -> Any:
    """The values in one dtype and one shape. At least one of the results is an array of that dtype, not a
    bare number.
    """
    values = promote_operands(*values, to=(dtype, weak))
    if all(is_python_scalar(x) for x in values):
        values[0] = typed(values[0], dtype, weak)
    return values


def all_arrays(values: Any) -> Any:
    """What ``promote`` returns, with bare numbers as arrays of the others' dtype: what is computed of a bare
    number alone, as its modulus, would not have it.
    """
    aval = next((typeof(x) for x in values if not is_python_scalar(x)), None)
    if aval is None:
        return [as_array(x) for x in values]
    return [typed(x, aval.dtype, aval.weak_type) if is_python_scalar(x) else x for x in values]


def integers_of_booleans(x: Value, y: Value) -> list[Value]:
    """Two operands of an operation on integers; two booleans count as 0 and 1."""
    if kind_of(x) == kind_of(y) == "b":
        return [lax.convert_element_type(v, int) for v in (x, y)]
    return [x, y]


def typed(x: float, dtype: DType, weak: bool = False) -> Value:
    """A number as an array of a dtype."""
    return with_weak_type(x, dtype=dtype) if weak else lax.convert_element_type(x, dtype)


def as_array(x: Value) -> Any:
    """``x`` as what has the methods of an array: a NumPy array or a number is lifted, a bare number weakly
    typed.
    """
    if hasattr(x, "aval"):
        return x
    if hasattr(x, "__jax_array__"):
        return as_array(x.__jax_array__())
    if type(x) in (int, float, complex):
        return with_weak_type(x, dtype=dtypes.scalar_dtype(type(x)))
    return lax.convert_element_type(x, typeof(x).dtype)


def kind_of(x: Value) -> Any:
    """The kind letter of a value's dtype: one of ``biufcV``."""
    return dtypes.kind(typeof(x).dtype)


def axis_of(name: str, axis: int, ndim: int) -> Any:
    """A non-negative axis from one that may count from the end.

    Raises:
      ValueError: if it is out of range.
      TypeError: if it is not an integer.
    """
    try:
        at = operator.index(axis)
    except ConcretizationTypeError:
        raise
    except TypeError:
        raise TypeError(f"{name}: axis must be an int, got {axis!r}") from None
    return axis_in_range(name, at, ndim)


def axes_of(name: str, axis: Any, ndim: int) -> Any:
    """A tuple of non-negative axes; all of them for None.

    Raises:
      ValueError: if one is out of range or named twice.
    """
    if axis is None:
        return tuple(range(ndim))
    if isinstance(axis, (tuple, list, range)):
        axes = tuple([axis_of(name, a, ndim) for a in axis])
        if len(set(axes)) != len(axes):
            raise AxisError(f"{name}: the axes {tuple(axis)} name one twice")
        return axes
    return (axis_of(name, axis, ndim),)


def shape_of(name: str, shape: tuple[int, ...] | Value) -> tuple[int, ...]:
    """A tuple of ints from a shape given as ints or as one int.

    Raises:
      TypeError: if an entry is not an int; its subclass ``ConcretizationTypeError`` if it is traced.
    """
    entries = (
        (shape,) if getattr(shape, "shape", None) == () or not hasattr(shape, "__iter__") else tuple(shape)
    )
    try:
        return tuple([dimension_of(n) for n in entries])
    except ConcretizationTypeError:
        raise
    except TypeError:
        raise TypeError(f"{name}: a shape is an int or a tuple of ints, got {shape!r}") from None


def weak_as(out: Value, x: Value) -> Value:
    """``out``, made weak if ``x`` is."""
    if typeof(x).weak_type and not out.aval.weak_type:
        return with_weak_type(out)
    return out


def weak_by(count: int) -> Callable[..., Any]:
    """Decorator of a function whose results, positions aside, are weakly typed where its first ``count``
    arguments promote to a weak type; 0: all that it takes by position.
    """

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        names = list(inspect.signature(function).parameters)[: count or 1]

        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            out = function(*args, **kwargs)
            operands = (*args[: count or None], *[kwargs[name] for name in names if name in kwargs])
            dtype, weak = dtypes.promote(*operands)
            exact = dtypes.kind(dtype) in "iu"
            return tree.map(lambda x: with_weak_type(x) if may_be_weak(x, exact) else x, out) if weak else out

        return call

    return decorate


def may_be_weak(x: Any, exact: bool) -> bool:
    """Whether a result is of numbers like the operands'; ``exact``: these are integers."""
    return not x.aval.weak_type and dtypes.kind(x.dtype) in ("iufc" if exact else "fc")


def keep_dims(out: Value, axes: tuple[int, ...]) -> Value:
    """A reduced array with its reduced dimensions back, of size 1."""
    return lax.expand_dims(out, axes) if axes else out


def no_out(name: str, out: np.ndarray | None) -> None:
    """Refuse NumPy's ``out``: arrays do not change."""
    if out is not None:
        raise NotImplementedError(
            f"{name}: arrays cannot be written to, so out= must be left out; use the returned array"
        )


def requested(dtype: DType | str | None, default: DType) -> DType:
    """The dtype asked for, or the default for None."""
    return default if dtype is None else dtypes.requested(dtype)


def integer_dtype(name: str, dtype: str) -> DType:
    """The dtype that the argument ``dtype`` of ``name`` means, or a ValueError if it is not of integers."""
    found = dtypes.canonicalize(dtype)
    if dtypes.kind(found) not in "iu":
        raise ValueError(f"{name}: dtype must be an integer dtype, got {found}")
    return found


def place_dtype(size: Any) -> Any:
    """The dtype of positions among ``size`` elements, and of their number: that of Python integers, or int64
    where that one does not hold them.
    """
    usual = dtypes.scalar_dtype(int)
    return np.dtype("int64") if exceeds(size, dtypes.iinfo(usual).max) else usual


def index_dtype(n: Any) -> Any:
    """The dtype of places among ``n``: int32 while these fit, also where ``int`` is int64, as in JAX."""
    return np.dtype("int64" if exceeds(n, 2**31 - 1) else "int32")


def number(value: Any, dtype: Any) -> Any:
    """A NumPy scalar of a dtype."""
    return dtypes.host_cast(np.asarray(value), dtype)[()]


def full_like(x: Any, value: Any) -> Any:
    """An array like ``x`` (shape and dtype, not weak) of one value."""
    return lax.full_like(x, value)


__all__ = [
    "as_array",
    "axes_of",
    "axis_of",
    "check",
    "full_like",
    "in_dtype",
    "keep_dims",
    "kind_of",
    "no_out",
    "number",
    "promote",
    "promote_to_float",
    "requested",
    "shape_of",
    "typed",
    "weak_as",
    "weak_by",
]
