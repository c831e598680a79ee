"""Comparison, logic and bits, elementwise; and tests of single numbers such as ``isnan``."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from rabbet import dtypes, lax
from rabbet.errors import DTypeError
from rabbet.extend.functions import fused, is_python_scalar
from rabbet.extend.transform import typeof
from rabbet.numpy.creation.conversion import asarray
from rabbet.numpy.support.arguments import (
    all_arrays,
    as_array,
    check,
    compared,
    integers_of_booleans,
    kind_of,
    no_out,
    promote,
)
from rabbet.numpy.support.ufuncs import binary, named, unary

if TYPE_CHECKING:

    from rabbet.extend.primitive import Primitive
    from rabbet.typing import Value


# -------------------------------------------------------------------------------------------- comparison
def ordered(name: str, on_reals: Primitive, doc: str) -> Any:
    """Make a comparison by order. Complex numbers are ordered by real parts, then by imaginary parts, as
    NumPy does.
    """

    def compare(x: Value, y: Value) -> Value:
        if kind_of(x) != "c" and kind_of(y) != "c":
            return on_reals(x, y)
        re_x, re_y, im_x, im_y = real_part(x), real_part(y), imaginary_part(x), imaginary_part(y)
        return lax.select(lax.eq(re_x, re_y), on_reals(im_x, im_y), on_reals(re_x, re_y))

    return binary(name, on_reals, doc, kinds="biuf", prepare=compared, otherwise=compare)


def real_part(x: Value) -> Value:
    """The real part of a number or an array."""
    return x.real if is_python_scalar(x) or kind_of(x) != "c" else lax.real(x)


def imaginary_part(x: Value) -> Value:
    """The imaginary part of a number or a complex array."""
    return x.imag if is_python_scalar(x) else lax.imag(x)


equal = binary(
    "equal",
    lax.eq,
    """``x == y``, booleans.

    >>> rnp.equal(rnp.arange(3), 1)
    Array([False,  True, False], dtype=bool)
    """,
    kinds="biufc",
    prepare=compared,
)
not_equal = binary(
    "not_equal",
    lax.ne,
    """``x != y``, booleans.

    >>> rnp.not_equal(rnp.arange(3), 1)
    Array([ True, False,  True], dtype=bool)
    """,
    kinds="biufc",
    prepare=compared,
)
less = ordered(
    "less",
    lax.lt,
    """``x < y``, booleans.

    >>> rnp.less(rnp.arange(3), 1)
    Array([ True, False, False], dtype=bool)
    """,
)
less_equal = ordered(
    "less_equal",
    lax.le,
    """``x <= y``, booleans.

    >>> rnp.less_equal(rnp.arange(3), 1)
    Array([ True,  True, False], dtype=bool)
    """,
)
greater = ordered(
    "greater",
    lax.gt,
    """``x > y``, booleans.

    >>> rnp.greater(rnp.arange(3), 1)
    Array([False, False,  True], dtype=bool)
    """,
)
greater_equal = ordered(
    "greater_equal",
    lax.ge,
    """``x >= y``, booleans.

    >>> rnp.greater_equal(rnp.arange(3), 1)
    Array([False,  True,  True], dtype=bool)
    """,
)


# ---------------------------------------------------------------------------------------- truth and bits
def truth(x: Value) -> Value:
    """Whether each element is not zero."""
    return x if kind_of(x) == "b" else lax.ne(x, 0)


def promote_truths(name: str, x: Value, y: Value) -> list[Value]:
    """The truth of both operands, broadcast."""
    check(name, x, y)
    return promote(name, truth(x), truth(y))


logical_and = binary(
    "logical_and",
    lax.bitwise_and,
    """Whether both are not zero.

    >>> rnp.logical_and(rnp.array([True, True]), rnp.array([True, False]))
    Array([ True, False], dtype=bool)
    """,
    kinds="b",
    prepare=promote_truths,
)
logical_or = binary(
    "logical_or",
    lax.bitwise_or,
    """Whether one is not zero.

    >>> rnp.logical_or(rnp.array([False, True]), rnp.array([False, False]))
    Array([False,  True], dtype=bool)
    """,
    kinds="b",
    prepare=promote_truths,
)
logical_xor = binary(
    "logical_xor",
    lax.bitwise_xor,
    """Whether just one is not zero.

    >>> rnp.logical_xor(rnp.array([True, True]), rnp.array([True, False]))
    Array([False,  True], dtype=bool)
    """,
    kinds="b",
    prepare=promote_truths,
)
logical_not = unary(
    "logical_not",
    lax.bitwise_not,
    """Whether ``x`` is zero.

    >>> rnp.logical_not(rnp.array([0, 2]))
    Array([ True, False], dtype=bool)
    """,
    kinds="b",
    otherwise=lambda x: lax.bitwise_not(truth(x)),
)

bitwise_and = binary(
    "bitwise_and",
    lax.bitwise_and,
    """The bits that both have; logical and on booleans.

    >>> rnp.bitwise_and(rnp.array([6, 5]), 3)
    Array([2, 1], dtype=int32)
    """,
    kinds="biu",
)
bitwise_or = binary(
    "bitwise_or",
    lax.bitwise_or,
    """The bits that one has; logical or on booleans.

    >>> rnp.bitwise_or(rnp.array([6, 5]), 3)
    Array([7, 7], dtype=int32)
    """,
    kinds="biu",
)
bitwise_xor = binary(
    "bitwise_xor",
    lax.bitwise_xor,
    """The bits that just one has.

    >>> rnp.bitwise_xor(rnp.array([6, 5]), 3)
    Array([5, 6], dtype=int32)
    """,
    kinds="biu",
)
bitwise_not = bitwise_invert = invert = unary(
    "invert",
    lax.bitwise_not,
    """The bits that ``x`` lacks; logical not on booleans.

    >>> rnp.bitwise_invert(rnp.array([0, 5]))
    Array([-1, -6], dtype=int32)
    """,
    kinds="biu",
)
left_shift = bitwise_left_shift = binary(
    "left_shift",
    lambda x, y: lax.shift_left(*integers_of_booleans(x, y)),
    """``x`` shifted left by ``y`` bits.

    >>> rnp.bitwise_left_shift(rnp.array([1, 3]), 2)
    Array([ 4, 12], dtype=int32)
    """,
    kinds="iu",
)


def shift_right(x: Value, y: Value) -> Value:
    """``x >> y``; the sign of a signed integer stays."""
    x, y = integers_of_booleans(x, y)
    unsigned = "u" in (kind_of(x), kind_of(y))
    return (lax.shift_right_logical if unsigned else lax.shift_right_arithmetic)(x, y)


right_shift = bitwise_right_shift = binary(
    "right_shift",
    shift_right,
    """``x`` shifted right by ``y`` bits; signed integers keep their sign.

    >>> rnp.bitwise_right_shift(rnp.array([8, -8]), 2)
    Array([ 2, -2], dtype=int32)
    """,
    kinds="iu",
)


@fused
def bitwise_count(x: Value, /) -> Value:
    """The number of bits set in the modulus of each integer, as uint8.

    Raises:
      TypeError: for other dtypes.

    Example:
      >>> rnp.bitwise_count(rnp.array([0, 7, 8]))
      Array([0, 3, 1], dtype=uint8)
    """
    check("bitwise_count", x)
    x = as_array(x)
    if kind_of(x) == "b":
        return lax.convert_element_type(x, "uint8")
    return lax.convert_element_type(lax.population_count(lax.abs(x) if kind_of(x) == "i" else x), "uint8")


# -------------------------------------------------------------------------------------------- properties
def property_of_floats(
    name: str, on_reals: Primitive | Callable[..., Any], either: bool, on_integers: bool, doc: str
) -> Callable[..., Any]:
    """Make a test of floats; complex numbers by their parts, of integers all answer the same."""

    def test(x: Any) -> Any:
        kind = kind_of(x)
        if kind == "c":
            return (lax.bitwise_or if either else lax.bitwise_and)(
                on_reals(lax.real(x)), on_reals(lax.imag(x))
            )
        if kind == "f":
            return on_reals(as_array(x))
        return lax.full_like(x, on_integers, bool)

    return unary(name, test, doc, kinds="")


isfinite = property_of_floats(
    "isfinite",
    lax.is_finite,
    False,
    True,
    """Whether ``x`` is neither infinite nor NaN.

    >>> rnp.isfinite(rnp.array([1.0, rnp.inf, rnp.nan]))
    Array([ True, False, False], dtype=bool)
    """,
)
isnan = unary(
    "isnan",
    lambda x: lax.ne(x, x),
    """Whether ``x`` is NaN.

    >>> rnp.isnan(rnp.array([1.0, rnp.inf, rnp.nan]))
    Array([False, False,  True], dtype=bool)
    """,
    kinds="fc",
    otherwise=lambda x: (
        lax.ne(as_array(x), as_array(x)) if kind_of(x) in "fc" else lax.full_like(x, False, bool)
    ),
)


def is_infinite(x: Any, infinity: Any) -> Any:
    """Where ``x`` is that infinity: nowhere in formats that have none, where it would become a number."""
    if not dtypes.spec(x.aval.dtype).infinities:
        return lax.full_like(x, False, bool)
    return lax.eq(x, infinity)


isinf = property_of_floats(
    "isinf",
    lambda x: is_infinite(lax.abs(x), math.inf),
    True,
    False,
    """Whether ``x`` is an infinity of either sign.

    >>> rnp.isinf(rnp.array([1.0, -rnp.inf, rnp.nan]))
    Array([False,  True, False], dtype=bool)
    """,
)


def infinity_of(name: str, value: float, doc: str) -> Callable[..., Any]:
    """Make a test for one of the infinities."""
    def test(x: Value, /, out: Value | None = None) -> Value:
        no_out(name, out)
        check(name, x)
        if kind_of(x) == "c":
            raise DTypeError(f"{name} is not defined on complex numbers; use isinf")
        return is_infinite(as_array(x), value) if kind_of(x) == "f" else lax.full_like(x, False, bool)

    return fused(named(test, name, doc), static=("out",))


isposinf = infinity_of(
    "isposinf",
    math.inf,
    """Whether ``x`` is plus infinity; complex arrays are refused.

    >>> rnp.isposinf(rnp.array([-rnp.inf, rnp.inf]))
    Array([False,  True], dtype=bool)
    """,
)
isneginf = infinity_of(
    "isneginf",
    -math.inf,
    """Whether ``x`` is minus infinity; complex arrays are refused.

    >>> rnp.isneginf(rnp.array([-rnp.inf, rnp.inf]))
    Array([ True, False], dtype=bool)
    """,
)


@fused
def iscomplex(x: Value) -> Value:
    """Whether the imaginary part of ``x`` is not zero.

    Example:
      >>> rnp.iscomplex(rnp.array([1 + 2j, 3.0]))
      Array([ True, False], dtype=bool)
    """
    check("iscomplex", x)
    return lax.ne(lax.imag(x), 0.0) if kind_of(x) == "c" else lax.full_like(x, False, bool)


@fused
def isreal(x: Value) -> Value:
    """Whether the imaginary part of ``x`` is zero.

    Example:
      >>> rnp.isreal(rnp.array([1 + 2j, 3.0]))
      Array([False,  True], dtype=bool)
    """
    check("isreal", x)
    return lax.eq(lax.imag(x), 0.0) if kind_of(x) == "c" else lax.full_like(x, True, bool)


@fused(static=("rtol", "atol", "equal_nan"))
def isclose(a: Value, b: Value, rtol: Value = 1e-05, atol: Value = 1e-08, equal_nan: bool = False) -> Value:
    """Whether ``|a - b| <= atol + rtol * |b|``, elementwise; infinities are close to themselves only.

    Args:
      a, b: arrays, promoted and broadcast.
      rtol, atol: the relative and the absolute tolerance.
      equal_nan: whether NaN is close to NaN.

    Example:
      >>> rnp.isclose(rnp.array([1.0, 2.0]), rnp.array([1.0 + 1e-7, 2.1]))
      Array([ True, False], dtype=bool)
    """
    a, b = all_arrays(promote("isclose", a, b))
    if typeof(a).is_extended:  # keys have no distance
        return lax.eq(a, b)
    if kind_of(a) in "biu" and kind_of(b) in "biu":
        a, b = (lax.convert_element_type(v, float) for v in (a, b))
    close = lax.le(lax.abs(lax.sub(a, b)), lax.add(lax.mul(lax.abs(b), rtol), atol))
    finite = lax.bitwise_and(isfinite(a), isfinite(b))
    out = lax.select(finite, close, lax.eq(a, b))
    if equal_nan:
        out = lax.bitwise_or(out, lax.bitwise_and(lax.ne(a, a), lax.ne(b, b)))
    return out


@fused(static=("rtol", "atol", "equal_nan"))
def allclose(a: Value, b: Value, rtol: Value = 1e-05, atol: Value = 1e-08, equal_nan: bool = False) -> Value:
    """Whether all elements are close, see ``isclose``: one boolean.

    Example:
      >>> rnp.allclose(rnp.array([1.0, 2.0]), rnp.array([1.0, 2.0 + 1e-7]))
      Array(True, dtype=bool)
    """
    close = isclose(a, b, rtol, atol, equal_nan)
    return lax.reduce_and(close, axes=tuple(range(close.ndim)))


def array_equal(a1: Value, a2: Value, equal_nan: bool = False) -> Value:
    """Whether two arrays or lists have one shape and equal elements: one boolean.

    Example:
      >>> rnp.array_equal(rnp.arange(3), rnp.array([0, 1, 2]))
      Array(True, dtype=bool)
    """
    a1, a2 = [asarray(a) if isinstance(a, (list, tuple)) else a for a in (a1, a2)]
    return all_equal(a1, a2, equal_nan=bool(equal_nan))


@fused(static=("equal_nan",))
def all_equal(a1: Value, a2: Value, equal_nan: bool) -> Value:
    """``array_equal`` of arrays."""
    check("array_equal", a1, a2)
    if typeof(a1).shape != typeof(a2).shape:
        return lax.full((), False)
    same = equal(a1, a2)
    if equal_nan:
        same = lax.bitwise_or(same, lax.bitwise_and(isnan(a1), isnan(a2)))
    return lax.reduce_and(same, axes=tuple(range(same.ndim)))


def array_equiv(a1: Value, a2: Value) -> Value:
    """Whether two arrays or lists broadcast to one shape and are equal there: one boolean.

    Example:
      >>> rnp.array_equiv(rnp.ones(3), rnp.ones((2, 3)))
      Array(True, dtype=bool)
    """
    return equal_where_spread(*[asarray(a) if isinstance(a, (list, tuple)) else a for a in (a1, a2)])


@fused
def equal_where_spread(a1: Value, a2: Value) -> Value:
    """``array_equiv`` of arrays: that ranks differ is what it is asked, whatever the setting for them."""
    check("array_equiv", a1, a2)
    try:
        rank = len(lax.broadcast_shapes(typeof(a1).shape, typeof(a2).shape))
    except ValueError:
        return lax.full((), False)
    same = equal(*(lax.expand_dims(a, tuple(range(rank - typeof(a).ndim))) for a in (a1, a2)))
    return lax.reduce_and(same, axes=tuple(range(rank)))


__all__ = [
    "allclose",
    "array_equal",
    "array_equiv",
    "bitwise_and",
    "bitwise_count",
    "bitwise_invert",
    "bitwise_left_shift",
    "bitwise_not",
    "bitwise_or",
    "bitwise_right_shift",
    "bitwise_xor",
    "equal",
    "greater",
    "greater_equal",
    "invert",
    "isclose",
    "iscomplex",
    "isfinite",
    "isinf",
    "isnan",
    "isneginf",
    "isposinf",
    "isreal",
    "left_shift",
    "less",
    "less_equal",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "not_equal",
    "right_shift",
]
