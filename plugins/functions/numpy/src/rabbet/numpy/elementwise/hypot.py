"""``hypot``, with a derivative in closed form, and roots of what is a sum of squares."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from rabbet_custom_rules import custom_rules

from rabbet import lax
from rabbet.errors import DTypeError
from rabbet.extend.functions import fused
from rabbet.numpy.support.arguments import all_arrays, kind_of, promote_to_float

if TYPE_CHECKING:
    from rabbet.typing import Value


def root_of_size(squared: Value) -> Value:
    """The square root of what is not negative. Its derivative at 0 is 0, a subgradient."""
    nothing = lax.eq(squared, 0)
    root = lax.sqrt(lax.select(nothing, lax.full_like(squared, 1), squared))
    return lax.select(nothing, lax.full_like(squared, 0), root)


@fused
def hypot(x: Value, y: Value, /) -> Value:
    """``sqrt(x**2 + y**2)`` without overflow on the way; complex operands are refused.

    Example:
      >>> rnp.hypot(rnp.array([3.0, 5.0]), rnp.array([4.0, 12.0]))
      Array([ 5.      , 12.999999], dtype=float32)
    """
    x, y = all_arrays(promote_to_float("hypot", x, y))
    if kind_of(x) == "c" or kind_of(y) == "c":
        raise DTypeError("hypot is not defined on complex numbers; use abs")
    return length(x, y)


@custom_rules
def length(x: Value, y: Value) -> Value:
    """``sqrt(x**2 + y**2)`` from the larger one and the ratio, so that nothing overflows."""
    x, y = lax.abs(x), lax.abs(y)
    infinite = lax.bitwise_or(lax.eq(x, math.inf), lax.eq(y, math.inf))  # also beside a NaN
    large, small = lax.max(x, y), lax.min(x, y)
    ratio = lax.div(small, lax.select(lax.eq(large, 0.0), lax.full_like(large, 1), large))
    found = lax.mul(large, lax.sqrt(lax.add(lax.square(ratio), 1.0)))
    return lax.select(infinite, lax.full_like(large, math.inf), found)


@length.def_rule("jvp")
def length_jvp(primals: tuple[Value, ...], tangents: tuple[Value, ...]) -> tuple[Value, ...]:
    """The direction times the tangents: a closed form with all its derivatives, at ties too."""
    x, y = primals
    out = length(x, y)
    tx, ty = tangents
    return out, lax.add(lax.mul(tx, share(x, y, out)), lax.mul(ty, share(y, x, out)))


@custom_rules
def share(x: Value, other: Value, out: Value) -> Value:
    """``x / length(x, other)``, 0 at the origin; ``out`` is that length."""
    infinite = lax.eq(lax.abs(x), math.inf)
    finite = lax.select(infinite, lax.full_like(x, 0), x)
    return lax.select(infinite, lax.sign(x), lax.div(finite, or_one(out)))


@share.def_rule("jvp")
def share_jvp(primals: tuple[Value, ...], tangents: tuple[Value, ...]) -> tuple[Value, ...]:
    """By the other share, which far out is what the square of this one lacks to 1. The length is not taken as
    an operand of its own.
    """
    x, other, out = primals
    here, beside = share(x, other, out), share(other, x, out)
    turned = lax.sub(lax.mul(beside, tangents[0]), lax.mul(here, tangents[1]))
    return here, lax.mul(turned, lax.div(beside, or_one(out)))


def or_one(out: Value) -> Value:
    return lax.select(lax.eq(out, 0.0), lax.full_like(out, 1), out)


__all__ = ["hypot", "root_of_size"]
