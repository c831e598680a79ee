"""Exponentials, logarithms, trigonometry, elementwise. All compute in floats; integers and booleans are
converted.
"""

import math

from rabbet import custom_rules, lax
from rabbet.extend.functions import fused
from rabbet.extend.transform import typeof
from rabbet.numpy.arguments import kind_of, promote_to_float
from rabbet.numpy.ufuncs import binary, float_unary, to_float, unary

# --------------------------------------------------------------------------- exponentials and logarithms
exp = float_unary("exp", lax.exp, "``e ** x``.")
exp2 = float_unary("exp2", lax.exp2, "``2 ** x``.")
expm1 = float_unary("expm1", lax.expm1, "``e ** x - 1``, exact for small ``x``.")
log = float_unary("log", lax.log, "The natural logarithm; NaN for negative real numbers.")
log1p = float_unary("log1p", lax.log1p, "``log(1 + x)``, exact for small ``x``.")


def log_of_base(name, base):
    """Make the logarithm to a base: a natural logarithm, scaled."""
    scale = 1.0 / math.log(base)
    return unary(
        name,
        lambda x: lax.mul(lax.log(x), scale),
        f"The logarithm to base {base}; NaN for negative real numbers.",
        kinds="",
        prepare=to_float,
    )


log2 = log_of_base("log2", 2)
log10 = log_of_base("log10", 10)


def log_sum(x, y):
    """``log(exp(x) + exp(y))``."""
    return log_sum_with_rule(x, y) if kind_of(x) == "f" else sum_by_larger(x, y)


def sum_by_larger(x, y):
    """``log(exp(x) + exp(y))`` from the larger one and the difference, so that nothing overflows; of equal
    infinities the difference is 0.
    """
    larger, smaller = lax.max(x, y), lax.min(x, y)
    difference = lax.select(lax.eq(larger, smaller), lax.full_like(larger, 0), lax.sub(smaller, larger))
    return lax.add(larger, lax.log1p(lax.exp(difference)))


log_sum_with_rule = custom_rules(sum_by_larger)


@log_sum_with_rule.def_rule("jvp")
def log_sum_jvp(primals, tangents):
    """The shares of the two are the logistic function of their difference: a closed form that has all its
    derivatives where the two are equal, too, which the larger one and the smaller one have not.
    """
    x, y = primals
    infinite = lax.bitwise_and(lax.eq(x, y), lax.eq(lax.abs(x), math.inf))
    difference = lax.select(infinite, lax.full_like(x, 0), lax.sub(x, y))
    shares = lax.logistic(difference), lax.logistic(lax.neg(difference))
    moved = [lax.mul(t, share) for t, share in zip(tangents, shares, strict=True)]
    return log_sum_with_rule(x, y), lax.add(*moved)


def log2_sum(x, y):
    """``log2(2 ** x + 2 ** y)`` by way of the natural one."""
    return lax.mul(log_sum(lax.mul(x, math.log(2)), lax.mul(y, math.log(2))), 1 / math.log(2))


logaddexp = binary(
    "logaddexp",
    log_sum,
    "``log(exp(x) + exp(y))`` without overflow on the way.",
    kinds="",
    prepare=promote_to_float,
)
logaddexp2 = binary(
    "logaddexp2",
    log2_sum,
    "``log2(2 ** x + 2 ** y)`` without overflow on the way.",
    kinds="",
    prepare=promote_to_float,
)

# ------------------------------------------------------------------------------------------ trigonometry
sin = float_unary("sin", lax.sin, "The sine of ``x`` radians.")
cos = float_unary("cos", lax.cos, "The cosine of ``x`` radians.")
tan = float_unary("tan", lax.tan, "The tangent of ``x`` radians.")
arcsin = asin = float_unary("arcsin", lax.asin, "The inverse sine, in radians; NaN outside -1 to 1.")
arccos = acos = float_unary("arccos", lax.acos, "The inverse cosine, in radians; NaN outside -1 to 1.")
arctan = atan = float_unary("arctan", lax.atan, "The inverse tangent, in radians.")
sinh = float_unary("sinh", lax.sinh, "The hyperbolic sine.")
cosh = float_unary("cosh", lax.cosh, "The hyperbolic cosine.")
tanh = float_unary("tanh", lax.tanh, "The hyperbolic tangent.")
arcsinh = asinh = float_unary("arcsinh", lax.asinh, "The inverse hyperbolic sine.")
arccosh = acosh = float_unary("arccosh", lax.acosh, "The inverse hyperbolic cosine; NaN below 1.")
arctanh = atanh = float_unary("arctanh", lax.atanh, "The inverse hyperbolic tangent; NaN outside -1 to 1.")
degrees = rad2deg = float_unary("degrees", lambda x: lax.mul(x, 180 / math.pi), "Radians as degrees.")
radians = deg2rad = float_unary("radians", lambda x: lax.mul(x, math.pi / 180), "Degrees as radians.")


@fused
def sinc(x, /):
    """``sin(pi x) / (pi x)``, and 1 at zero, where also its derivatives are right."""
    (x,) = promote_to_float("sinc", x)
    turned = lax.mul(x, math.pi)
    at_zero = lax.eq(x, 0.0) if kind_of(x) == "f" else lax.eq(x, 0j)
    safe = lax.select(at_zero, lax.full_like(x, 1), turned)
    squared = lax.square(turned)
    series = lax.add(lax.mul(lax.mul(squared, squared), 1 / 120), lax.add(lax.mul(squared, -1 / 6), 1.0))
    return strong(lax.select(at_zero, series, lax.div(lax.sin(safe), safe)))


def strong(x):
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
