"""Arithmetic, elementwise: sums, products, quotients, powers, signs, extremes of two."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from rabbet import lax
from rabbet.errors import DTypeError
from rabbet.extend.functions import fused, is_python_scalar
from rabbet.extend.transform import typeof
from rabbet.numpy.elementwise.hypot import hypot
from rabbet.numpy.support.arguments import (
    all_arrays,
    as_array,
    check,
    in_dtype,
    integers_of_booleans,
    kind_of,
    no_out,
    promote_to_float,
    weak_as,
)
from rabbet.numpy.support.ufuncs import ARRAYS, binary, float_binary, float_unary, unary

if TYPE_CHECKING:

    from rabbet.extend.primitive import Primitive, ShapedArray
    from rabbet.typing import Value


# ------------------------------------------------------------------------------------------ two operands
def also_booleans(on_numbers: Any, on_booleans: Primitive) -> Callable[..., Any]:
    """One function for numbers, another where both operands are booleans."""

    def choose(x: Value, y: Value) -> Value:
        return (on_booleans if kind_of(x) == kind_of(y) == "b" else on_numbers)(x, y)

    return choose


def refuse_booleans(name: str, function: Primitive | Callable[..., Any], instead: str) -> Callable[..., Any]:
    """``function``, with an error for booleans that says what to use instead."""

    def choose(*operands: Any) -> Any:
        if all(kind_of(x) == "b" for x in operands):
            raise TypeError(f"{name} is not defined on booleans; use {instead}, or convert them to integers")
        return function(*operands)

    return choose


add = binary(
    "add", lax.add, """The sum ``x + y``; on booleans, logical or. Operands are promoted and broadcast.

    >>> rnp.add(rnp.arange(3), 1.5)
    Array([1.5, 2.5, 3.5], dtype=float32, weak_type=True)
    """,
    otherwise=also_booleans(lax.add, lax.bitwise_or),
)  # fmt: skip
subtract = binary(
    "subtract", lax.sub, """The difference ``x - y``. Booleans are refused with a ``TypeError``.

    >>> rnp.subtract(rnp.arange(3), 1)
    Array([-1,  0,  1], dtype=int32)
    """,
    otherwise=refuse_booleans("subtract", lax.sub, "logical_xor"),
)  # fmt: skip
multiply = binary(
    "multiply", lax.mul, """The product ``x * y``; on booleans, logical and.

    >>> rnp.multiply(rnp.arange(3), 2)
    Array([0, 2, 4], dtype=int32)
    """,
    otherwise=also_booleans(lax.mul, lax.bitwise_and),
)  # fmt: skip
true_divide = divide = float_binary(
    "divide",
    lax.div,
    """The quotient ``x / y``, a float also for integers.

    >>> rnp.divide(rnp.array([1, 2]), 2)
    Array([0.5, 1. ], dtype=float32)
    """,
)
maximum = binary(
    "maximum",
    lax.max,
    """The larger of two, elementwise; NaN where either is NaN.

    >>> rnp.maximum(rnp.array([1, 5]), rnp.array([3, 2]))
    Array([3, 5], dtype=int32)
    """,
)
minimum = binary(
    "minimum",
    lax.min,
    """The smaller of two, elementwise; NaN where either is NaN.

    >>> rnp.minimum(rnp.array([1, 5]), rnp.array([3, 2]))
    Array([1, 2], dtype=int32)
    """,
)
arctan2 = atan2 = float_binary(
    "arctan2",
    lax.atan2,
    """The angle of the point (y, x), in radians from -pi to pi.

    >>> rnp.arctan2(rnp.array([1.0, -1.0]), rnp.array([-1.0, -1.0]))
    Array([ 2.3561945, -2.3561945], dtype=float32)
    """,
)
float_power = float_binary(
    "float_power",
    lax.pow,
    """``x ** y``, computed in floats.

    >>> rnp.float_power(rnp.array([2, 3]), -1)
    Array([0.5       , 0.33333334], dtype=float32)
    """,
)


def lifted(name: str, x: Value, y: Value) -> tuple[Value, ...]:
    """Two operands of which at least one has the operators of an array, which promote by themselves."""
    check(name, x, y)
    return (x if type(x) in ARRAYS or type(y) in ARRAYS else as_array(x)), y


floor_divide = binary(
    "floor_divide", operator.floordiv,
    """``floor(x / y)`` in the common dtype of ``x`` and ``y``; complex operands raise a ``TypeError``.

    >>> rnp.floor_divide(rnp.array([7, -7]), 2)
    Array([ 3, -4], dtype=int32)
    """,
    kinds="", prepare=lifted,
)  # fmt: skip
remainder = mod = binary(
    "remainder",
    operator.mod,
    """``x - floor(x / y) * y``: what is left, with the sign of ``y``; complex operands raise a ``TypeError``.

    >>> rnp.mod(rnp.array([7, -7]), 3)
    Array([1, 2], dtype=int32)
    """,
    kinds="",
    prepare=lifted,
)


def rest(x: Value, y: Value) -> Value:
    """``lax.rem``, of booleans as integers; as in NumPy, integers give 0 where ``y`` is 0."""
    x, y = integers_of_booleans(x, y)
    left = lax.rem(x, y)
    return left if kind_of(left) == "f" else lax.select(lax.eq(y, 0), lax.full_like(left, 0), left)


fmod = binary(
    "fmod",
    rest,
    """What is left of ``x / y``, with the sign of ``x``; of integers 0 where ``y`` is 0.

    >>> rnp.fmod(rnp.array([7, -7]), 3)
    Array([ 1, -1], dtype=int32)
    """,
    kinds="iuf",
)
array_power = binary("power", operator.pow, "", kinds="", prepare=lifted)


def divmod(x: Value, y: Value, /) -> tuple[Value, Value]:
    """``(floor_divide(x, y), remainder(x, y))``.

    Example:
      >>> rnp.divmod(rnp.array([7, -7]), 3)
      (Array([ 2, -3], dtype=int32), Array([1, 2], dtype=int32))
    """
    return floor_divide(x, y), remainder(x, y)


def power(x: Value, y: Value, /) -> Value:
    """``x ** y`` in the common dtype of ``x`` and ``y``.

    A Python int as ``y`` becomes repeated multiplication, exact for integers.

    Raises:
      TypeError: for an integer array and a negative Python int.

    Example:
      >>> rnp.pow(rnp.array([2, 3]), 2)
      Array([4, 9], dtype=int32)
    """
    if type(y) is int and type(x) in ARRAYS:
        return x**y
    return array_power(x, y)


pow = power


def number_wins(primitive: Primitive) -> Callable[..., Any]:
    """``max`` or ``min`` of two in which a NaN gives way to a number."""

    def pick(x: Value, y: Value) -> Value:
        best = primitive(x, y)
        aval = typeof(best)
        if kind_of(best) != "f":
            return best
        x, y = [full_rank(v, aval) for v in in_dtype((x, y), aval.dtype, aval.weak_type)]
        return weak_as(lax.select(lax.ne(x, x), y, lax.select(lax.ne(y, y), x, best)), best)

    return pick


def full_rank(x: Value, aval: ShapedArray) -> Value:
    """A number or an array without dimensions as an array of type ``aval``; arrays as they are."""
    return lax.full(aval.shape, x, aval.dtype) if is_python_scalar(x) or typeof(x).shape != aval.shape else x


larger_number = binary("fmax", number_wins(lax.max), "", kinds="")
smaller_number = binary("fmin", number_wins(lax.min), "", kinds="")


def fmax(x1: Value, x2: Value) -> Value:
    """The larger of two, elementwise; a NaN gives way to a number.

    Example:
      >>> rnp.fmax(rnp.array([1.0, rnp.nan]), 0.0)
      Array([1., 0.], dtype=float32)
    """
    return larger_number(x1, x2)


def fmin(x1: Value, x2: Value) -> Value:
    """The smaller of two, elementwise; a NaN gives way to a number.

    Example:
      >>> rnp.fmin(rnp.array([1.0, rnp.nan]), 2.0)
      Array([1., 2.], dtype=float32)
    """
    return smaller_number(x1, x2)


# ------------------------------------------------------------------------------------------- one operand
negative = unary(
    "negative",
    lax.neg,
    """``-x``; booleans are refused.

    >>> rnp.negative(rnp.arange(3))
    Array([ 0, -1, -2], dtype=int32)
    """,
    otherwise=refuse_booleans("negative", lax.neg, "logical_not"),
)
positive = unary(
    "positive", as_array, """``x`` itself; booleans are refused.

    >>> rnp.positive(rnp.array([-1.0, 2.0]))
    Array([-1.,  2.], dtype=float32)
    """,
    otherwise=refuse_booleans("positive", as_array, "the array itself"),
)  # fmt: skip
sign = unary(
    "sign", lax.sign, """-1, 0 or 1 by the sign of ``x``, in its dtype; ``x / |x|`` for complex ``x``.

    >>> rnp.sign(rnp.array([-2.0, 0.0, 3.0]))
    Array([-1.,  0.,  1.], dtype=float32)
    """,
    otherwise=refuse_booleans("sign", lax.sign, "the array itself"),
)  # fmt: skip
square = unary(
    "square", lax.square, """``x * x``; booleans are squared as integers.

    >>> rnp.square(rnp.array([2, -3]))
    Array([4, 9], dtype=int32)
    """,
    otherwise=lambda x: lax.square(lax.convert_element_type(x, "int32") if kind_of(x) == "b" else x),
)  # fmt: skip


def _absolute(name: str) -> Callable[..., Any]:
    return unary(
        name, lax.abs, f"""The modulus of ``x``: a real number for complex ``x``.

    >>> rnp.{name}(rnp.array([-1.5, 2.0]))
    Array([1.5, 2. ], dtype=float32)
    """, kinds="ifc",
        otherwise=lambda x: as_array(x) if kind_of(x) in "bu" else lax.abs(x),
    )  # fmt: skip


abs = _absolute("abs")
absolute = _absolute("absolute")


def _real_modulus(x: Value) -> Value:
    if kind_of(x) == "c":
        raise DTypeError("fabs is not defined on complex numbers; use abs")
    return lax.abs(x)


fabs = float_unary(
    "fabs",
    _real_modulus,
    """The modulus of a real ``x``, a float.

    >>> rnp.fabs(rnp.array([-1, 2]))
    Array([1., 2.], dtype=float32)
    """,
)
sqrt = float_unary(
    "sqrt",
    lax.sqrt,
    """The square root; NaN for negative real numbers.

    >>> rnp.sqrt(rnp.array([4.0, 9.0]))
    Array([2., 3.], dtype=float32)
    """,
)
cbrt = float_unary(
    "cbrt",
    lax.cbrt,
    """The real cube root.

    >>> rnp.cbrt(rnp.array([8.0, -27.0]))
    Array([ 2., -3.], dtype=float32)
    """,
)
reciprocal = float_unary(
    "reciprocal",
    lax.reciprocal,
    """``1 / x``, a float.

    >>> rnp.reciprocal(rnp.array([2.0, 4.0]))
    Array([0.5 , 0.25], dtype=float32)
    """,
)


def whole_part(x: Value) -> Value:
    """``x`` without its fraction; integers are whole."""
    if kind_of(x) in "biu":
        return as_array(x)
    return lax.select(lax.lt(x, 0.0), lax.ceil(x), lax.floor(x))


whole = unary("trunc", whole_part, "", kinds="")


def trunc(x: Value) -> Value:
    """``x`` without its fraction, towards zero, in its own dtype.

    Example:
      >>> rnp.trunc(rnp.array([1.8, -1.8]))
      Array([ 1., -1.], dtype=float32)
    """
    return whole(x)


@fused
def modf(x: Value, /, out: Any = None) -> tuple[Value, Value]:
    """The fraction and the whole part of ``x``, both with its sign: a pair of floats.

    Example:
      >>> rnp.modf(rnp.array([1.5, -2.25]))
      (Array([ 0.5 , -0.25], dtype=float32), Array([ 1., -2.], dtype=float32))
    """
    no_out("modf", out)
    (x,) = promote_to_float("modf", x)
    whole = whole_part(x)
    fraction, zero = lax.sub(x, whole), lax.mul(lax.sign(x), 0.0)
    # A zero with the sign of x, and with the derivative of the fraction.
    zero_fraction = lax.sub(zero, lax.sub(lax.stop_gradient(fraction), fraction))
    fraction = lax.select(lax.eq(fraction, 0.0), zero_fraction, fraction)
    return lax.select(lax.eq(lax.abs(x), math.inf), zero, fraction), whole


@fused
def copysign(x: Value, y: Value, /) -> Value:
    """The modulus of ``x`` with the sign of ``y``, also that of a zero; a float.

    Example:
      >>> rnp.copysign(rnp.array([1.0, -2.0]), rnp.array([-0.0, 5.0]))
      Array([-1.,  2.], dtype=float32)
    """
    x, y = all_arrays(promote_to_float("copysign", x, y))
    if "c" in (kind_of(x), kind_of(y)):
        raise DTypeError("copysign is not defined on complex numbers, which have no sign")
    x, y = [full_rank(v, typeof(lax.add(x, y))) for v in (x, y)]
    return lax.select(signbit(y), lax.neg(lax.abs(x)), lax.abs(x))


@fused
def signbit(x: Value, /) -> Value:
    """Whether the sign of ``x`` is minus, also that of a zero or a NaN; booleans.

    Example:
      >>> rnp.signbit(rnp.array([-0.0, 0.0]))
      Array([ True, False], dtype=bool)
    """
    check("signbit", x)
    kind = kind_of(x)
    if kind == "c":
        raise DTypeError("signbit is not defined on complex numbers, which have no sign")
    if kind == "f":
        x = as_array(x)
        bits = lax.bitcast_convert_type(x, f"int{8 * x.dtype.itemsize}")
        return lax.lt(bits, 0)
    return lax.lt(x, 0) if kind == "i" else lax.full_like(x, False, bool)


@fused
def heaviside(x: Value, y: Value, /) -> Value:
    """0 for negative ``x``, 1 for positive ``x`` and ``y`` where ``x`` is zero; NaN stays NaN.

    Example:
      >>> rnp.heaviside(rnp.array([-1.0, 0.0, 1.0]), 0.5)
      Array([0. , 0.5, 1. ], dtype=float32)
    """
    x, y = promote_to_float("heaviside", x, y)
    aval = typeof(lax.add(x, y)).strong()
    x, y = [lax.convert_element_type(full_rank(as_array(v), aval), aval.dtype) for v in (x, y)]
    step = lax.convert_element_type(lax.gt(x, 0.0), typeof(x).dtype)
    return lax.select(lax.eq(x, 0.0), y, lax.select(lax.ne(x, x), x, step))


__all__ = [
    "abs",
    "absolute",
    "add",
    "arctan2",
    "atan2",
    "cbrt",
    "copysign",
    "divide",
    "divmod",
    "fabs",
    "float_power",
    "floor_divide",
    "fmax",
    "fmin",
    "fmod",
    "heaviside",
    "hypot",
    "maximum",
    "minimum",
    "mod",
    "modf",
    "multiply",
    "negative",
    "positive",
    "pow",
    "power",
    "reciprocal",
    "remainder",
    "sign",
    "signbit",
    "sqrt",
    "square",
    "subtract",
    "true_divide",
    "trunc",
]
