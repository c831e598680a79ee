"""Divisors and multiples of integers: ``gcd``, ``lcm``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rabbet import dtypes, lax
from rabbet.errors import DTypeError
from rabbet.extend.functions import fused, with_weak_type
from rabbet.extend.transform import typeof
from rabbet.numpy.elementwise.arithmetic import full_rank
from rabbet.numpy.support.arguments import kind_of, promote

if TYPE_CHECKING:
    from rabbet.typing import Value


@fused
def gcd(x1: Value, x2: Value) -> Value:
    """The greatest common divisor of integers, never negative; ``gcd(0, 0)`` is 0.

    Raises:
      TypeError: for operands that are not integers.

    Example:
      >>> rnp.gcd(rnp.array([12, 9]), 6)
      Array([6, 3], dtype=int32)
    """
    x, y = integers("gcd", x1, x2)
    return lax.abs(euclid(lax.abs(x), lax.abs(y)))  # the least number is its own absolute value


@fused
def lcm(x1: Value, x2: Value) -> Value:
    """The least common multiple of integers, never negative; 0 if either is 0.

    Raises:
      TypeError: for operands that are not integers.

    Example:
      >>> rnp.lcm(rnp.array([4, 6]), 6)
      Array([12,  6], dtype=int32)
    """
    x, y = integers("lcm", x1, x2)
    x, y = lax.abs(x), lax.abs(y)
    common = euclid(x, y)
    safe = lax.select(lax.eq(common, 0), lax.full_like(common, 1), common)
    return lax.mul(lax.div(x, safe), y)


def integers(name: str, x: Value, y: Value) -> list[Value]:
    """Two integer operands in one dtype and shape, or a ``TypeError``."""
    given = x, y
    x, y = promote(name, x, y)
    dtype = dtypes.result_type(x, y)
    if dtypes.kind(dtype) not in "iu":
        raise DTypeError(f"{name} takes integers, got {typeof(x).str_short()} and {typeof(y).str_short()}")
    weak = all(typeof(v).weak_type and kind_of(v) != "b" for v in given)
    x, y = ((with_weak_type(v, weak, dtype) if weak else lax.convert_element_type(v, dtype)) for v in (x, y))
    return [full_rank(v, typeof(lax.add(x, y))) for v in (x, y)]


def euclid(x: Value, y: Value) -> Value:
    """Euclid's algorithm, in a loop that ends when all elements are done. Unrolled, the steps take LLVM
    forever where it knows that an operand is small, such as a bool that was made an integer.
    """

    def step(pair: tuple[Value, ...]) -> tuple[Value, ...]:
        x, y = pair
        done = lax.eq(y, 0)
        rest = lax.rem(x, lax.select(done, lax.full_like(y, 1), y))
        return lax.select(done, x, y), lax.select(done, y, rest)

    def goes_on(pair: tuple[Value, ...]) -> Value:
        return lax.reduce_or(lax.ne(pair[1], 0), tuple(range(typeof(pair[1]).ndim)))

    return lax.while_loop(goes_on, step, (x, y))[0]


__all__ = ["gcd", "lcm"]
