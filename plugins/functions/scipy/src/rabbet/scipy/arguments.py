"""What functions accept, checked in one place: arrays and numbers, brought to one float dtype and shape."""

import functools
import operator
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from rabbet import Array, dtypes, lax
from rabbet.errors import DTypeError
from rabbet.extend.functions import (
    broadcast_operands,
    cast_operand,
    fused,
    is_array_like,
    is_python_scalar,
    with_weak_type,
)
from rabbet.extend.transform import Tracer, typeof

if TYPE_CHECKING:  # an array's operators are given to its class when it is made, which checkers cannot see
    ArrayLike: TypeAlias = Any
else:
    ArrayLike = Array | Tracer | np.ndarray | np.generic | bool | int | float | complex


def check(name, *values):
    """Refuse what is neither an array nor a number.

    Raises:
      TypeError: naming the function and the argument.
    """
    for i, x in enumerate(values):
        if not is_array_like(x):
            advice = (
                f"; make it an array first, as in {name}(array(x))" if isinstance(x, list | tuple) else ""
            )
            raise TypeError(
                f"{name} takes arrays and numbers, got a {type(x).__name__} as argument {i + 1}{advice}"
            )


def one_dtype(name, *values, kinds="f", weak=True):
    """The values as arrays of their common dtype, made a float if it is none, each in its own shape.

    Args:
      name: of the public function, for messages.
      kinds: dtype kinds that it takes, ``"f"`` or ``"fc"``.
      weak: False: Python numbers become strong, where JAX's result is.

    Raises:
      TypeError: if a value is not an array or number, or if the common dtype is complex and ``kinds`` is not.
    """
    check(name, *values)
    dtype, all_weak = dtypes.promote(*values)
    if dtypes.kind(dtype) not in "fc":
        dtype = dtypes.to_inexact(dtype)
    if dtypes.kind(dtype) not in kinds:
        raise DTypeError(f"{name} takes real numbers, got {dtype}; take the real part of it first")
    if all_weak and not weak:
        return [with_weak_type(as_array(x, dtype, True), False) for x in values]
    return [as_array(x, dtype, all_weak) for x in values]


def inexact(name, *values):
    """The values as arrays of one float or complex dtype and one shape. Raises: TypeError, as
    ``one_dtype``.
    """
    return broadcast_operands(one_dtype(name, *values, kinds="fc"))


def real(name, *values, weak=True):
    """The values as arrays of one float dtype and one shape. Raises: TypeError, as ``one_dtype``."""
    return broadcast_operands(one_dtype(name, *values, weak=weak))


def as_array(x, dtype, weak=False):
    """One value as an array of a dtype."""
    x = cast_operand(x, typeof(x), dtype, weak)
    if is_python_scalar(x) or not hasattr(x, "aval"):
        return with_weak_type(x, dtype=dtype) if weak else lax.convert_element_type(x, dtype)
    return x


def elementwise(function=None, *, static=()):
    """Decorator of a function of several operations on arrays of one dtype: one compiled program where it is
    called eagerly, in which half types are computed in single precision.

    Args:
      static: names of arguments that are not arrays, though they may be numbers.
    """
    if function is None:
        return functools.partial(elementwise, static=static)

    @functools.wraps(function)
    def call(*args, **kwargs):
        values = [x for x in (*args, *kwargs.values()) if is_array_like(x)]
        dtype, _ = dtypes.promote(*values) if values else (None, False)
        if dtype is None or dtypes.kind(dtype) != "f" or dtypes.itemsize_bits(dtype) >= 32:
            return function(*args, **kwargs)
        args = [_widened(x) for x in args]
        out = function(*args, **{name: _widened(x) for name, x in kwargs.items()})
        return lax.convert_element_type(out, dtype)

    return fused(call, static=static)


def _widened(x):
    """An array of a half type in single precision; anything else as it is."""
    if not is_array_like(x) or is_python_scalar(x):
        return x
    aval = typeof(x)
    half = dtypes.kind(aval.dtype) == "f" and dtypes.itemsize_bits(aval.dtype) < 32
    return lax.convert_element_type(x, "float32") if half else x


def is_complex(x):
    """Whether an array has complex numbers."""
    return dtypes.kind(x.dtype) == "c"


def concrete(name, argument, value):
    """A whole number that a result's shape depends on.

    Raises:
      TypeError: if it is traced, or no whole number.
    """
    try:
        return operator.index(value)
    except TypeError as error:
        raise TypeError(
            f"{name}: {argument} decides the shape of the result, so it must be a Python int, got {value!r}; "
            "under jit make it a static argument"
        ) from error


__all__ = [
    "ArrayLike",
    "as_array",
    "check",
    "concrete",
    "elementwise",
    "inexact",
    "is_complex",
    "one_dtype",
    "real",
]
