"""Arithmetic, elementwise: sums, products, quotients, powers, signs, extremes of two."""

import math
import operator

from rabbet import custom_rules, lax
from rabbet.extend.functions import fused, is_python_scalar
from rabbet.extend.transform import typeof
from rabbet.numpy.arguments import as_array, check, in_dtype, kind_of, promote, promote_to_float
from rabbet.numpy.ufuncs import ARRAYS, binary, float_binary, float_unary, unary


# ------------------------------------------------------------------------------------------ two operands
def also_booleans(on_numbers, on_booleans):
    """One function for numbers, another where both operands are booleans."""

    def choose(x, y):
        return (on_booleans if kind_of(x) == kind_of(y) == "b" else on_numbers)(x, y)

    return choose


def refuse_booleans(name, function, instead):
    """``function``, with an error for booleans that says what to use instead."""

    def choose(*operands):
        if all(kind_of(x) == "b" for x in operands):
            raise TypeError(f"{name} is not defined on booleans; use {instead}, or convert them to integers")
        return function(*operands)

    return choose


add = binary(
    "add", lax.add, "The sum ``x + y``; on booleans, logical or. Operands are promoted and broadcast.",
    otherwise=also_booleans(lax.add, lax.bitwise_or),
)  # fmt: skip
subtract = binary(
    "subtract", lax.sub, "The difference ``x - y``. Booleans are refused with a ``TypeError``.",
    otherwise=refuse_booleans("subtract", lax.sub, "logical_xor"),
)  # fmt: skip
multiply = binary(
    "multiply", lax.mul, "The product ``x * y``; on booleans, logical and.",
    otherwise=also_booleans(lax.mul, lax.bitwise_and),
)  # fmt: skip
true_divide = divide = float_binary("divide", lax.div, "The quotient ``x / y``, a float also for integers.")
maximum = binary("maximum", lax.max, "The larger of two, elementwise; NaN where either is NaN.")
minimum = binary("minimum", lax.min, "The smaller of two, elementwise; NaN where either is NaN.")
arctan2 = atan2 = float_binary(
    "arctan2", lax.atan2, "The angle of the point (y, x), in radians from -pi to pi."
)
float_power = float_binary("float_power", lax.pow, "``x ** y``, computed in floats.")


def lifted(name, x, y):
    """Two operands of which at least one has the operators of an array, which promote by themselves."""
    check(name, x, y)
    return (x if type(x) in ARRAYS or type(y) in ARRAYS else as_array(x)), y


floor_divide = binary(
    "floor_divide", operator.floordiv,
    "``floor(x / y)`` in the common dtype of ``x`` and ``y``; complex operands raise a ``TypeError``.",
    kinds="", prepare=lifted,
)  # fmt: skip
remainder = mod = binary(
    "remainder",
    operator.mod,
    "``x - floor(x / y) * y``: what is left, with the sign of ``y``; complex operands raise a ``TypeError``.",
    kinds="",
    prepare=lifted,
)
fmod = binary("fmod", lax.rem, "What is left of ``x / y``, with the sign of ``x``.", kinds="iuf")
array_power = binary("power", operator.pow, "", kinds="", prepare=lifted)


def divmod(x, y, /):
    """``(floor_divide(x, y), remainder(x, y))``."""
    return floor_divide(x, y), remainder(x, y)


def power(x, y, /):
    """``x ** y`` in the common dtype of ``x`` and ``y``.

    A Python int as ``y`` becomes repeated multiplication, exact for integers.

    Raises:
      TypeError: for an integer array and a negative Python int.
    """
    if type(y) is int and type(x) in ARRAYS:
        return x**y
    return array_power(x, y)


pow = power


def number_wins(primitive):
    """``max`` or ``min`` of two in which a NaN gives way to a number."""

    def pick(x, y):
        best = primitive(x, y)
        aval = typeof(best)
        if kind_of(best) != "f":
            return best
        x, y = [full_rank(v, aval) for v in in_dtype((x, y), aval.dtype, aval.weak_type)]
        return lax.select(lax.ne(x, x), y, lax.select(lax.ne(y, y), x, best))

    return pick


def full_rank(x, aval):
    """A number or an array without dimensions as an array of type ``aval``; arrays as they are."""
    return lax.full(aval.shape, x, aval.dtype) if is_python_scalar(x) or typeof(x).shape != aval.shape else x


larger_number = binary("fmax", number_wins(lax.max), "", kinds="")
smaller_number = binary("fmin", number_wins(lax.min), "", kinds="")


def fmax(x1, x2):
    """The larger of two, elementwise; a NaN gives way to a number."""
    return larger_number(x1, x2)


def fmin(x1, x2):
    """The smaller of two, elementwise; a NaN gives way to a number."""
    return smaller_number(x1, x2)


# ------------------------------------------------------------------------------------------- one operand
negative = unary(
    "negative",
    lax.neg,
    "``-x``; booleans are refused.",
    otherwise=refuse_booleans("negative", lax.neg, "logical_not"),
)
positive = unary(
    "positive", as_array, "``x`` itself; booleans are refused.",
    otherwise=refuse_booleans("positive", as_array, "the array itself"),
)  # fmt: skip
sign = unary(
    "sign", lax.sign, "-1, 0 or 1 by the sign of ``x``, in its dtype; ``x / |x|`` for complex ``x``.",
    otherwise=refuse_booleans("sign", lax.sign, "the array itself"),
)  # fmt: skip
square = unary(
    "square", lax.square, "``x * x``; booleans are squared as integers.",
    otherwise=lambda x: lax.square(lax.convert_element_type(x, "int32") if kind_of(x) == "b" else x),
)  # fmt: skip


def _absolute(name):
    return unary(
        name, lax.abs, "The modulus of ``x``: a real number for complex ``x``.", kinds="ifc",
        otherwise=lambda x: as_array(x) if kind_of(x) in "bu" else lax.abs(x),
    )  # fmt: skip


abs = _absolute("abs")
absolute = _absolute("absolute")
fabs = float_unary("fabs", lax.abs, "The modulus of a real ``x``, a float.")
sqrt = float_unary("sqrt", lax.sqrt, "The square root; NaN for negative real numbers.")
cbrt = float_unary("cbrt", lax.cbrt, "The real cube root.")
reciprocal = float_unary("reciprocal", lax.reciprocal, "``1 / x``, a float.")


def whole_part(x):
    """``x`` without its fraction; integers are whole."""
    if kind_of(x) in "biu":
        return as_array(x)
    return lax.select(lax.lt(x, 0.0), lax.ceil(x), lax.floor(x))


whole = unary("trunc", whole_part, "", kinds="")


def trunc(x):
    """``x`` without its fraction, towards zero, in its own dtype."""
    return whole(x)


@fused
def modf(x, /, out=None):
    """The fraction and the whole part of ``x``, both with its sign: a pair of floats."""
    (x,) = promote_to_float("modf", x)
    whole = whole_part(x)
    fraction, zero = lax.sub(x, whole), lax.mul(lax.sign(x), 0.0)
    # A zero with the sign of x, and with the derivative of the fraction.
    zero_fraction = lax.sub(zero, lax.sub(lax.stop_gradient(fraction), fraction))
    fraction = lax.select(lax.eq(fraction, 0.0), zero_fraction, fraction)
    return lax.select(lax.eq(lax.abs(x), math.inf), zero, fraction), whole


@fused
def hypot(x, y, /):
    """``sqrt(x**2 + y**2)`` without overflow on the way; complex operands are refused."""
    x, y = promote_to_float("hypot", x, y)
    if kind_of(x) == "c" or kind_of(y) == "c":
        raise TypeError("hypot is not defined on complex numbers; use abs")
    return length(x, y)


@custom_rules
def length(x, y):
    """``sqrt(x**2 + y**2)`` from the larger one and the ratio, so that nothing overflows."""
    x, y = lax.abs(x), lax.abs(y)
    infinite = lax.bitwise_or(lax.eq(x, math.inf), lax.eq(y, math.inf))  # also beside a NaN
    large, small = lax.max(x, y), lax.min(x, y)
    ratio = lax.div(small, lax.select(lax.eq(large, 0.0), lax.full_like(large, 1), large))
    found = lax.mul(large, lax.sqrt(lax.add(lax.square(ratio), 1.0)))
    return lax.select(infinite, lax.full_like(large, math.inf), found)


@length.def_rule("jvp")
def length_jvp(primals, tangents):
    """The direction times the tangents: a closed form that has all its derivatives where the two are equal."""
    x, y = primals
    out = length(x, y)
    safe = lax.select(lax.eq(out, 0.0), lax.full_like(out, 1), out)

    def share(v):
        infinite = lax.eq(lax.abs(v), math.inf)
        finite = lax.select(infinite, lax.full_like(v, 0), v)
        return lax.select(infinite, lax.sign(v), lax.div(finite, safe))

    moved = [lax.mul(t, share(v)) for v, t in zip(primals, tangents, strict=True)]
    return out, lax.add(*moved)


@fused
def copysign(x, y, /):
    """The modulus of ``x`` with the sign of ``y``, also that of a zero; a float."""
    x, y = promote_to_float("copysign", x, y)
    return lax.select(signbit(y), lax.neg(lax.abs(x)), lax.abs(x))


@fused
def signbit(x, /):
    """Whether the sign of ``x`` is minus, also that of a zero or a NaN; booleans."""
    check("signbit", x)
    kind = kind_of(x)
    if kind == "f":
        x = as_array(x)
        bits = lax.bitcast_convert_type(x, f"int{8 * x.dtype.itemsize}")
        return lax.lt(bits, 0)
    return lax.lt(x, 0) if kind == "i" else lax.full(typeof(x).shape, False)


@fused
def heaviside(x, y, /):
    """0 for negative ``x``, 1 for positive ``x`` and ``y`` where ``x`` is zero; NaN stays NaN."""
    x, y = promote_to_float("heaviside", x, y)
    aval = typeof(lax.add(x, y)).strong()
    x, y = [lax.convert_element_type(full_rank(as_array(v), aval), aval.dtype) for v in (x, y)]
    step = lax.convert_element_type(lax.gt(x, 0.0), typeof(x).dtype)
    return lax.select(lax.eq(x, 0.0), y, lax.select(lax.ne(x, x), x, step))


@fused
def gcd(x1, x2):
    """The greatest common divisor of integers, never negative; ``gcd(0, 0)`` is 0.

    Raises:
      TypeError: for operands that are not integers.
    """
    x, y = integers("gcd", x1, x2)
    return euclid(lax.abs(x), lax.abs(y))


@fused
def lcm(x1, x2):
    """The least common multiple of integers, never negative; 0 if either is 0.

    Raises:
      TypeError: for operands that are not integers.
    """
    x, y = integers("lcm", x1, x2)
    x, y = lax.abs(x), lax.abs(y)
    common = euclid(x, y)
    safe = lax.select(lax.eq(common, 0), lax.full_like(common, 1), common)
    return lax.mul(lax.div(x, safe), y)


def integers(name, x, y):
    """Two integer operands in one dtype and shape, or a ``TypeError``."""
    x, y = promote(name, x, y)
    if kind_of(x) not in "iu" or kind_of(y) not in "iu":
        raise TypeError(f"{name} takes integers, got {typeof(x).str_short()} and {typeof(y).str_short()}")
    return [full_rank(as_array(v), typeof(lax.add(x, y)).strong()) for v in (x, y)]


def euclid(x, y):
    """Euclid's algorithm. No pair of 64-bit numbers needs more than 93 steps (Lame), one of 32 bits 47, so
    they are unrolled.
    """
    for _ in range({8: 13, 16: 24, 32: 47, 64: 93}[8 * typeof(x).dtype.itemsize]):
        done = lax.eq(y, 0)
        rest = lax.rem(x, lax.select(done, lax.full_like(y, 1), y))
        x, y = lax.select(done, x, y), lax.select(done, y, rest)
    return x


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
    "gcd",
    "heaviside",
    "hypot",
    "lcm",
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
