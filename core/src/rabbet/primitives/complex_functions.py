"""Functions of complex numbers by their parts, where the compiler's own cancel or forget a sign.

``sin(a + ib) = sin a cosh b + i cos a sinh b`` and the like (DLMF 4.21.37, 4.35.34): a small part keeps its
digits. ``e ** |b|`` is multiplied in as two halves, because it may be infinite where the product is not. On
a cut the sign of a zero says from which side a number came (C99, annex G).
"""

import math
from typing import Any

from rabbet.primitives import complex_parts, convert, elementwise, logic, powers, zeros
from rabbet.primitives.elementwise import add, div, mul, neg, sub
from rabbet.trace.interpreter import typeof

UNSIGNED = {"float32": "int32", "float64": "int64"}
LARGE = {"float32": 80.0, "float64": 700.0}  # above, e ** -x is nothing beside e ** x, which may be infinite


def parts(z: Any) -> Any:
    """The real and the imaginary part."""
    return complex_parts.real(z), complex_parts.imag(z)


def is_negative(x: Any) -> Any:
    """Whether the sign of ``x`` is minus, that of a zero too."""
    return logic.lt(convert.bitcast_convert_type(x, new_dtype=UNSIGNED[str(typeof(x).dtype)]), 0)


def with_sign_of(x: Any, y: Any) -> Any:
    """``|x|`` with the sign of ``y``."""
    size = powers.abs(x)
    return logic.select_n(is_negative(y), size, neg(size))


def times_growth(a: Any, c: Any, s: Any, x: Any, of_even: bool) -> Any:
    """``c * cosh(x)`` and ``s * sinh(x)``, where ``c`` and ``s`` are sines and cosines of ``a``.

    Where ``x`` is infinite and ``a`` no number, one of them is infinite and the other unknown (C99, annex G):
    the one with the cosine, which is the even one where ``of_even`` is.
    """
    size = powers.abs(x)
    grown = elementwise.expm1(size)
    shrunk = div(grown, add(grown, 1.0))  # 1 - e ** -size
    cosh = mul(add(add(grown, 1.0), sub(1.0, shrunk)), 0.5)
    sinh = with_sign_of(mul(add(grown, shrunk), 0.5), x)
    half = elementwise.exp(mul(size, 0.5))
    is_large = logic.gt(size, LARGE[str(typeof(x).dtype)])

    def product(y: Any, factor: Any) -> Any:
        at_once, in_halves = mul(y, factor), mul(mul(y, mul(half, 0.5)), half)
        return logic.select_n(is_large, at_once, in_halves)

    even, odd = product(c, cosh), product(s, sinh)
    odd = logic.select_n(logic.bitwise_and(is_large, is_negative(x)), odd, neg(odd))
    even = logic.select_n(logic.eq(c, 0.0), even, c)  # 0 times infinity
    sign = with_sign_of(zeros.full_of_type(typeof(x).strong(), 1), x)
    odd = logic.select_n(logic.eq(s, 0.0), odd, mul(s, sign))
    unknown = logic.bitwise_and(logic.eq(x, 0.0), logic.ne(a, a_number(a)))
    odd = logic.select_n(unknown, odd, x)
    endless = logic.bitwise_and(logic.eq(size, math.inf), logic.ne(a, a_number(a)))
    if of_even:
        return logic.select_n(endless, even, size), odd
    return even, logic.select_n(endless, odd, x)


def a_number(a: Any) -> Any:
    """``a`` where it is finite, NaN elsewhere."""
    return add(a, mul(a, 0.0))


def sin(z: Any, **params: Any) -> Any:
    a, b = parts(z)
    return complex_parts.complex(
        *times_growth(a, elementwise.sin(a, **params), elementwise.cos(a, **params), b, False)
    )


def cos(z: Any, **params: Any) -> Any:
    a, b = parts(z)
    even, odd = times_growth(a, elementwise.cos(a, **params), elementwise.sin(a, **params), b, True)
    return complex_parts.complex(even, neg(odd))


def sinh(z: Any) -> Any:
    a, b = parts(z)
    even, odd = times_growth(b, elementwise.sin(b), elementwise.cos(b), a, False)
    return complex_parts.complex(odd, even)


def cosh(z: Any) -> Any:
    a, b = parts(z)
    return complex_parts.complex(*times_growth(b, elementwise.cos(b), elementwise.sin(b), a, True))


def logistic(z: Any, **params: Any) -> Any:
    """``1 / (1 + e ** -z)``, by ``|1 + e ** -z|`` as a sum of squares: near the poles nothing cancels."""
    a, b = parts(z)
    size = neg(powers.abs(a))
    shrunk, rest = elementwise.exp(size, **params), neg(elementwise.expm1(size))
    half = elementwise.cos(mul(b, 0.5))
    near = mul(mul(half, half), 2.0)  # 1 + cos b
    bottom = add(mul(rest, rest), mul(mul(shrunk, near), 2.0))
    left, right = mul(shrunk, sub(near, rest)), add(rest, mul(shrunk, near))
    top = logic.select_n(logic.lt(a, 0.0), right, left)
    return complex_parts.complex(div(top, bottom), div(mul(shrunk, elementwise.sin(b, **params)), bottom))


def rsqrt(z: Any, **params: Any) -> Any:
    """The conjugate of the root, divided by its modulus twice: the square may be infinite."""
    x, y = parts(elementwise.sqrt(z, **params))
    size = powers.abs(complex_parts.complex(x, y))
    real, imag = div(div(x, size), size), neg(div(div(y, size), size))
    pole, infinite = logic.eq(size, 0.0), logic.eq(size, math.inf)
    nothing = zeros.full_of_type(typeof(x).strong(), 0)
    real = logic.select_n(pole, real, zeros.full_of_type(typeof(x).strong(), math.inf))
    real = logic.select_n(infinite, real, nothing)
    imag = logic.select_n(logic.bitwise_or(pole, infinite), imag, with_sign_of(nothing, neg(y)))
    return complex_parts.complex(real, imag)


# ---------------------------------------------------------------- signs on cuts
SIGNS = {  # of the real and the imaginary part: the operand's (1), the opposite (-1), or what they are (0)
    "sqrt": (0, 1), "asin": (1, 1), "acos": (0, -1), "asinh": (1, 1), "acosh": (0, 1),
}  # fmt: skip


def with_signs(real: Any, imag: Any) -> Any:
    def signed(z: Any, out: Any) -> Any:
        new = [x if sign == 0 else with_sign_of(x, y if sign > 0 else neg(y))
               for x, y, sign in zip(parts(out), parts(z), (real, imag), strict=True)]  # fmt: skip
        return complex_parts.complex(*new)

    return signed


def by_parts(function: Any) -> Any:
    """How ``function`` is written in place of the compiler's own."""
    return lambda op, z, plainly: op.write(
        lambda z: [function(z, **op.params)], [op.in_avals[0].strong()], [z]
    )[0]


def mended(mend: Any) -> Any:
    """How the compiler's own is written and then ``mend(z, out)``."""
    return lambda op, z, plainly: op.write(
        lambda z, out: [mend(z, out)], [op.in_avals[0].strong(), op.out.strong()], [z, plainly()]
    )[0]


def mended_log1p(z: Any, out: Any) -> Any:
    """Next to -1, where ``1 + z`` is exact, by its logarithm: the compiler squares its parts."""
    a, b = parts(z)
    moved = complex_parts.complex(add(a, 1.0), b)
    return endless_log(z, logic.select_n(logic.lt(powers.abs(moved), 0.5), out, elementwise.log(moved)))


def endless_log(z: Any, out: Any) -> Any:
    """The logarithm of a number of infinite size, whose other part may be unknown, is infinite."""
    x, y = parts(out)
    infinity = zeros.full_of_type(typeof(x).strong(), math.inf)
    return complex_parts.complex(logic.select_n(is_endless(z), x, infinity), y)


def is_endless(z: Any) -> Any:
    a, b = parts(z)
    return logic.bitwise_or(logic.eq(powers.abs(a), math.inf), logic.eq(powers.abs(b), math.inf))


def next_to_poles(lead: Any, other: Any, own: Any) -> Any:
    """``log(|1 + w| / |1 - w|) / 2`` of ``w = lead + i other`` near 1 and -1, elsewhere ``own``."""
    below, above = [powers.abs(complex_parts.complex(x, other)) for x in (sub(1.0, lead), add(lead, 1.0))]
    exact = mul(sub(elementwise.log(above), elementwise.log(below)), 0.5)
    near = logic.bitwise_or(logic.lt(below, 0.1), logic.lt(above, 0.1))
    return logic.select_n(near, own, exact)


def known(a: Any, b: Any, x: Any, y: Any) -> Any:
    """The parts of ``atanh(a + ib)``, unknown where the operand is (the compiler's own have a part of pi / 2
    there) but for the zero that an infinite part leaves, and the right angle of an infinite ``b``.
    """
    lost = logic.bitwise_or(logic.ne(a, a), logic.ne(b, b))
    nan, nothing = add(a, b), zeros.full_of_type(typeof(a).strong(), 0)
    flat = logic.bitwise_or(is_endless(complex_parts.complex(a, b)), logic.eq(a, 0.0))
    size = logic.select_n(flat, nan, with_sign_of(nothing, a))
    right = with_sign_of(zeros.full_of_type(typeof(a).strong(), math.pi / 2), b)
    angle = logic.select_n(logic.eq(powers.abs(b), math.inf), nan, right)
    return logic.select_n(lost, x, size), logic.select_n(lost, y, angle)


def mended_atanh(z: Any, out: Any) -> Any:
    (a, b), (x, y) = parts(z), parts(out)
    return complex_parts.complex(*known(a, b, with_sign_of(next_to_poles(a, b, x), a), with_sign_of(y, b)))


def mended_atan(z: Any, out: Any) -> Any:
    """By ``-i atanh(i z)``."""
    (a, b), (x, y) = parts(z), parts(out)
    imag, real = known(b, a, with_sign_of(next_to_poles(b, a, y), b), with_sign_of(x, a))
    return complex_parts.complex(real, imag)


def mended_sqrt(z: Any, out: Any) -> Any:
    """An infinite part beside one that is unknown: the root is infinite, and where it goes may be known."""
    (a, b), (x, y) = parts(z), parts(with_signs(0, 1)(z, out))
    infinity = zeros.full_of_type(typeof(a).strong(), math.inf)
    upright = logic.eq(powers.abs(b), math.inf)
    x = logic.select_n(logic.bitwise_or(upright, logic.eq(a, math.inf)), x, infinity)
    sideways = logic.bitwise_and(logic.eq(a, -math.inf), logic.ne(b, b))
    imaginary = logic.bitwise_or(upright, sideways)
    return complex_parts.complex(x, logic.select_n(imaginary, y, with_sign_of(infinity, b)))


def with_axis(at: int, of: int, value: float) -> Any:
    """Of an operand whose part ``at`` is 0 and whose other is unknown, part ``of`` of the result is known:
    the zero with its sign, or ``value`` where that is not 0.
    """

    def mended(z: Any, out: Any) -> Any:
        operand, found = parts(z), list(parts(out))
        zero, other = operand[at], operand[1 - at]
        there = logic.bitwise_and(logic.eq(zero, 0.0), logic.ne(other, other))
        exact = zeros.full_of_type(typeof(zero).strong(), value) if value else zero
        found[of] = logic.select_n(there, found[of], exact)
        return complex_parts.complex(*found)

    return mended


def with_sign_and_axis(name: str, *axis: Any) -> Any:
    signed, known = with_signs(*SIGNS[name]), with_axis(*axis)
    return lambda z, out: known(z, signed(z, out))


def mended_exp(z: Any, out: Any) -> Any:
    """A zero keeps its sign; of infinite parts the size is known where the angle is not (C99, annex G)."""
    (a, b), (x, y) = parts(z), parts(out)
    nothing = zeros.full_of_type(typeof(a).strong(), 0)
    no_angle = logic.ne(sub(b, b), nothing)
    gone = logic.bitwise_and(logic.eq(a, -math.inf), no_angle)
    endless = logic.bitwise_and(logic.eq(a, math.inf), no_angle)
    x = logic.select_n(endless, logic.select_n(gone, x, nothing), a)
    y = logic.select_n(gone, y, logic.select_n(logic.eq(b, b), nothing, with_sign_of(nothing, b)))
    return complex_parts.complex(x, logic.select_n(logic.eq(b, 0.0), y, b))


def mended_expm1(z: Any, out: Any) -> Any:
    """The imaginary part is that of ``e ** z``: next to -1 the compiler's is 0."""
    (a, b), x = parts(z), parts(out)[0]
    nought = logic.bitwise_and(logic.eq(a, 0.0), logic.eq(b, 0.0))
    x = logic.select_n(logic.eq(a, -math.inf), x, zeros.full_of_type(typeof(a).strong(), -1))
    return complex_parts.complex(logic.select_n(nought, x, a), parts(elementwise.exp(z))[1])


def with_zeros(z: Any, out: Any) -> Any:
    """Of an odd function that is real on the real axis: parts that are 0 stay so, with their signs."""
    kept = [logic.select_n(logic.eq(x, 0.0), y, x) for x, y in zip(parts(z), parts(out), strict=True)]
    return complex_parts.complex(*kept)


MENDED = {"log1p": mended_log1p, "atan": mended_atan, "atanh": mended_atanh, "expm1": mended_expm1}
MENDED |= {"exp": mended_exp, "tan": with_zeros, "tanh": with_zeros}
MENDED |= {name: with_signs(*signs) for name, signs in SIGNS.items()}
AXES = {"asin": (0, 0, 0.0), "acos": (0, 0, math.pi / 2), "asinh": (1, 1, 0.0), "acosh": (0, 1, math.pi / 2)}
MENDED |= {name: with_sign_and_axis(name, *axis) for name, axis in AXES.items()}
MENDED |= {"log": endless_log, "sqrt": mended_sqrt}
elementwise.of_complex.update({name: mended(function) for name, function in MENDED.items()})
elementwise.of_complex.update({f.__name__: by_parts(f) for f in (sin, cos, sinh, cosh, logistic, rsqrt)})


# ---------------------------------------------------------------- derivatives
def shifted(a: Any, sign: Any, b: Any) -> Any:
    """``1 + sign * (a + ib)``; zeros keep their signs, which tell the sides of a cut."""
    return complex_parts.complex(add(a, 1.0), b) if sign > 0 else complex_parts.complex(sub(1.0, a), neg(b))


def factors(z: Any) -> Any:
    """``1 - z`` and ``1 + z``."""
    a, b = parts(z)
    return shifted(a, -1, b), shifted(a, 1, b)


def turned(z: Any) -> Any:
    """``i z``."""
    a, b = parts(z)
    return complex_parts.complex(neg(b), a)


def over_roots(x: Any, y: Any) -> Any:
    return mul(elementwise.rsqrt(x), elementwise.rsqrt(y))


def slope_of_acosh(z: Any, out: Any) -> Any:
    a, b = parts(z)
    return over_roots(complex_parts.complex(sub(a, 1.0), b), complex_parts.complex(add(a, 1.0), b))


def one_over_square_of_cos(z: Any, out: Any) -> Any:
    """``4 u / w ** 2`` with ``u = e ** -2|b|``, ``w = 2 e ** -|b| cos z``: nothing overflows or cancels."""
    a, b = parts(z)
    twice = mul(powers.abs(b), -2.0)
    u, rest = elementwise.exp(twice), neg(elementwise.expm1(twice))
    w = complex_parts.complex(
        mul(elementwise.cos(a), add(u, 1.0)), neg(mul(elementwise.sin(a), with_sign_of(rest, b)))
    )
    inverse = div(2.0, w)
    return mul(mul(inverse, inverse), convert.to_dtype(u, typeof(z).dtype))


elementwise.complex_slopes.update({
    "asin": lambda z, out: over_roots(*factors(z)),
    "acos": lambda z, out: neg(over_roots(*factors(z))),
    "asinh": lambda z, out: over_roots(*factors(turned(z))),
    "acosh": slope_of_acosh,
    "atan": lambda z, out: div(1.0, mul(*factors(turned(z)))),
    "atanh": lambda z, out: div(1.0, mul(*factors(z))),
    "tan": one_over_square_of_cos,
    "tanh": lambda z, out: one_over_square_of_cos(turned(z), out),
})  # fmt: skip

__all__ = ["is_negative", "parts", "with_sign_of"]
