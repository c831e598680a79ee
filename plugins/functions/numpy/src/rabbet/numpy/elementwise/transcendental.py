"""Exponentials, logarithms, trigonometry, elementwise. All compute in floats; integers and booleans are
converted.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from rabbet_custom_rules import custom_rules

from rabbet import dtypes, lax
from rabbet.extend.functions import fused, is_python_scalar
from rabbet.extend.transform import typeof
from rabbet.numpy.support.arguments import all_arrays, kind_of, promote_to_float
from rabbet.numpy.support.ufuncs import binary, float_unary, to_float, unary

if TYPE_CHECKING:
    from rabbet.typing import Value

# --------------------------------------------------------------------------- exponentials and logarithms
exp = float_unary(
    "exp",
    lax.exp,
    """``e ** x``.

    >>> rnp.exp(rnp.array([0.0, 1.0]))
    Array([1.       , 2.7182817], dtype=float32)
    """,
)
exp2 = float_unary(
    "exp2",
    lax.exp2,
    """``2 ** x``.

    >>> rnp.exp2(rnp.array([0.0, 3.0]))
    Array([1., 8.], dtype=float32)
    """,
)
expm1 = float_unary(
    "expm1",
    lax.expm1,
    """``e ** x - 1``, exact for small ``x``.

    >>> rnp.expm1(rnp.array([0.0, 1.0]))
    Array([0.       , 1.7182819], dtype=float32)
    """,
)
log = float_unary(
    "log",
    lax.log,
    """The natural logarithm; NaN for negative real numbers.

    >>> rnp.log(rnp.array([1.0, 10.0]))
    Array([0.       , 2.3025851], dtype=float32)
    """,
)
log1p = float_unary(
    "log1p",
    lax.log1p,
    """``log(1 + x)``, exact for small ``x``.

    >>> rnp.log1p(rnp.array([0.0, 1.0]))
    Array([0.       , 0.6931472], dtype=float32)
    """,
)


def log_of_base(name: str, base: int) -> Callable[..., Any]:
    """Make the logarithm to a base: a natural logarithm, scaled."""
    scale = 1.0 / math.log(base)

    def scaled(x):
        out = lax.log(x)
        if kind_of(x) != "c":
            return lax.mul(out, scale)
        # Part by part: 0 beside infinity stays 0.
        return lax.complex(lax.mul(lax.real(out), scale), lax.mul(lax.imag(out), scale))

    return unary(
        name,
        scaled,
        f"The logarithm to base {base}; NaN for negative real numbers.\n\n"
        f">>> rnp.{name}(rnp.array([1.0, {base**3}.0]))\nArray([0., 3.], dtype=float32)",
        kinds="",
        prepare=to_float,
    )


log2 = log_of_base("log2", 2)
log10 = log_of_base("log10", 10)


def log_sum(x: Value, y: Value) -> Value:
    """``log(exp(x) + exp(y))``."""
    if kind_of(x) != "f":
        return sum_by_larger(x, y)
    # A function with rules takes a number for an array of the default dtype.
    if is_python_scalar(x):
        x = lax.full_like(y, x)
    elif is_python_scalar(y):
        y = lax.full_like(x, y)
    return log_sum_with_rule(x, y)


def sum_by_larger(x: Value, y: Value) -> Value:
    """``log(exp(x) + exp(y))`` from the larger one and the difference, so that nothing overflows; of equal
    infinities the difference is 0.
    """
    larger, smaller = lax.max(x, y), lax.min(x, y)
    difference = lax.select(lax.eq(larger, smaller), lax.full_like(larger, 0), lax.sub(smaller, larger))
    return lax.add(larger, lax.log1p(lax.exp(difference)))


log_sum_with_rule = custom_rules(sum_by_larger)


@log_sum_with_rule.def_rule("jvp")
def log_sum_jvp(primals: tuple[Value, ...], tangents: tuple[Value, ...]) -> tuple[Value, ...]:
    """The shares of the two are the logistic function of their difference: a closed form that has all its
    derivatives where the two are equal, too, which the larger one and the smaller one have not.
    """
    x, y = primals
    infinite = lax.bitwise_and(lax.eq(x, y), lax.eq(lax.abs(x), math.inf))
    difference = lax.select(infinite, lax.full_like(x, 0), lax.sub(x, y))
    shares = share_of(difference), share_of(lax.neg(difference))
    moved = [lax.mul(t, share) for t, share in zip(tangents, shares, strict=True)]
    return log_sum_with_rule(x, y), lax.add(*moved)


@custom_rules
def share_of(x: Value) -> Value:
    """``logistic(x)``, whose derivative keeps its digits for large ``x``, where that of the value, ``y (1 -
    y)``, is nothing any more.
    """
    return lax.logistic(x)


@share_of.def_rule("jvp")
def share_jvp(primals: tuple[Value, ...], tangents: tuple[Value, ...]) -> tuple[Value, ...]:
    (x,), (t,) = primals, tangents
    out = share_of(x)
    return out, lax.mul(t, lax.mul(out, share_of(lax.neg(x))))


def log2_sum(x: Any, y: Any) -> Any:
    """``log2(2 ** x + 2 ** y)`` by way of the natural one."""
    x, y = all_arrays((x, y))
    return lax.mul(log_sum(lax.mul(x, math.log(2)), lax.mul(y, math.log(2))), 1 / math.log(2))


logaddexp = binary(
    "logaddexp",
    log_sum,
    """``log(exp(x) + exp(y))`` without overflow on the way.

    >>> rnp.logaddexp(rnp.array([0.0, 1000.0]), rnp.array([0.0, 1000.0]))
    Array([6.9314718e-01, 1.0006932e+03], dtype=float32)
    """,
    kinds="",
    prepare=promote_to_float,
)
logaddexp2 = binary(
    "logaddexp2",
    log2_sum,
    """``log2(2 ** x + 2 ** y)`` without overflow on the way.

    >>> rnp.logaddexp2(rnp.array([0.0, 1000.0]), rnp.array([0.0, 1000.0]))
    Array([1.000e+00, 1.001e+03], dtype=float32)
    """,
    kinds="",
    prepare=promote_to_float,
)

# ------------------------------------------------------------------------------------------ trigonometry
sin = float_unary(
    "sin",
    lax.sin,
    """The sine of ``x`` radians.

    >>> rnp.sin(rnp.array([0.0, 1.0]))
    Array([0.        , 0.84147096], dtype=float32)
    """,
)
cos = float_unary(
    "cos",
    lax.cos,
    """The cosine of ``x`` radians.

    >>> rnp.cos(rnp.array([0.0, 1.0]))
    Array([1.       , 0.5403023], dtype=float32)
    """,
)
tan = float_unary(
    "tan",
    lax.tan,
    """The tangent of ``x`` radians.

    >>> rnp.tan(rnp.array([0.0, 1.0]))
    Array([0.       , 1.5574077], dtype=float32)
    """,
)
arcsin = asin = float_unary(
    "arcsin",
    lax.asin,
    """The inverse sine, in radians; NaN outside -1 to 1.

    >>> rnp.arcsin(rnp.array([0.0, 1.0]))
    Array([0.       , 1.5707964], dtype=float32)
    """,
)
arccos = acos = float_unary(
    "arccos",
    lax.acos,
    """The inverse cosine, in radians; NaN outside -1 to 1.

    >>> rnp.arccos(rnp.array([1.0, 0.0]))
    Array([0.       , 1.5707964], dtype=float32)
    """,
)
arctan = atan = float_unary(
    "arctan",
    lax.atan,
    """The inverse tangent, in radians.

    >>> rnp.arctan(rnp.array([0.0, 1.0]))
    Array([0.       , 0.7853981], dtype=float32)
    """,
)
sinh = float_unary(
    "sinh",
    lax.sinh,
    """The hyperbolic sine.

    >>> rnp.sinh(rnp.array([0.0, 1.0]))
    Array([0.       , 1.1752012], dtype=float32)
    """,
)
cosh = float_unary(
    "cosh",
    lax.cosh,
    """The hyperbolic cosine.

    >>> rnp.cosh(rnp.array([0.0, 1.0]))
    Array([1.       , 1.5430806], dtype=float32)
    """,
)
tanh = float_unary(
    "tanh",
    lax.tanh,
    """The hyperbolic tangent.

    >>> rnp.tanh(rnp.array([0.0, 1.0]))
    Array([0.       , 0.7615942], dtype=float32)
    """,
)
arcsinh = asinh = float_unary(
    "arcsinh",
    lax.asinh,
    """The inverse hyperbolic sine.

    >>> rnp.arcsinh(rnp.array([0.0, 1.0]))
    Array([0.        , 0.88137364], dtype=float32)
    """,
)
arccosh = acosh = float_unary(
    "arccosh",
    lax.acosh,
    """The inverse hyperbolic cosine; NaN below 1.

    >>> rnp.arccosh(rnp.array([1.0, 2.0]))
    Array([0.      , 1.316958], dtype=float32)
    """,
)
arctanh = atanh = float_unary(
    "arctanh",
    lax.atanh,
    """The inverse hyperbolic tangent; NaN outside -1 to 1.

    >>> rnp.arctanh(rnp.array([0.0, 0.5]))
    Array([0.        , 0.54930615], dtype=float32)
    """,
)
degrees = rad2deg = float_unary(
    "degrees",
    lambda x: lax.mul(x, 180 / math.pi),
    """Radians as degrees.

    >>> rnp.degrees(rnp.array([0.0, rnp.pi]))
    Array([  0., 180.], dtype=float32)
    """,
)
radians = deg2rad = float_unary(
    "radians",
    lambda x: lax.mul(x, math.pi / 180),
    """Degrees as radians.

    >>> rnp.deg2rad(rnp.array([0.0, 180.0]))
    Array([0.       , 3.1415927], dtype=float32)
    """,
)


@fused
def sinc(x: Value, /) -> Value:
    """``sin(pi x) / (pi x)``, and 1 at zero, where also its derivatives are right.

    Example:
      >>> rnp.sinc(rnp.array([0.0, 0.5]))
      Array([1.        , 0.63661975], dtype=float32)
    """
    (x,) = promote_to_float("sinc", x)
    kept = typeof(x).dtype
    if dtypes.itemsize_bits(kept) < 32:  # the product with pi is rounded to more bits than these
        x = lax.convert_element_type(x, "float32")
    turned = lax.mul(x, math.pi)
    near = lax.lt(lax.abs(turned), 1.0)  # by its series, whose derivatives keep their digits
    safe = lax.select(near, lax.full_like(x, 1), turned)
    squared = lax.square(lax.select(near, turned, lax.full_like(x, 0)))
    series = lax.full_like(x, 0)
    for k in range(10, -1, -1):
        series = lax.add(lax.mul(series, squared), (-1) ** k / math.factorial(2 * k + 1))
    if kind_of(x) == "f":
        # The sine of the distance to the nearest even number, which is exact; at the ends it is 0. All of the
        # size of x: zeros have the sign of those at positive numbers.
        size = lax.abs(x)
        ends = lax.eq(size, math.inf)
        even = lax.mul(lax.round(lax.mul(size, 0.5), lax.RoundingMethod.TO_NEAREST_EVEN), 2.0)
        rest = lax.select(ends, lax.full_like(x, 0), lax.sub(size, even))
        # Of 1 and -1 it is 0.
        rest = lax.select(lax.gt(lax.abs(rest), 0.5), lax.sub(lax.sign(rest), rest), rest)
        safe = lax.select(ends, lax.full_like(x, 1), lax.abs(safe))
        top = lax.sin(lax.mul(rest, math.pi))
    else:
        top = lax.sin(safe)
    out = lax.convert_element_type(lax.select(near, series, lax.div(top, safe)), kept)
    return strong(out)


def strong(x: Value) -> Any:
    """``x`` without a weak type."""
    aval = typeof(x)
    return lax.convert_element_type(x, aval.dtype) if aval.weak_type else x


__all__ = [
    "acos",
    "acosh",
    "arccos",
    "arccosh",
    "arcsin",
    "arcsinh",
    "arctan",
    "arctanh",
    "asin",
    "asinh",
    "atan",
    "atanh",
    "cos",
    "cosh",
    "deg2rad",
    "degrees",
    "exp",
    "exp2",
    "expm1",
    "log",
    "log1p",
    "log2",
    "log10",
    "logaddexp",
    "logaddexp2",
    "rad2deg",
    "radians",
    "sin",
    "sinc",
    "sinh",
    "tan",
    "tanh",
]
