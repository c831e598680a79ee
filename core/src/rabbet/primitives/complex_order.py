"""The larger and the smaller of complex numbers: by their real parts, then by their imaginary parts.

StableHLO's ``maximum`` looks at real parts only. So where elements are complex, what combines two of them is
written out here, beside arrays and as the region of a reduction.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rabbet.primitives import logic
from rabbet.primitives.complex_parts import imag, real

if TYPE_CHECKING:
    from rabbet.typing import Value


def before(x: Value, y: Value) -> Value:
    """Whether ``x`` comes before ``y``, elementwise; nothing is before or behind NaN."""
    a, b = real(x), real(y)
    second = logic.lt(imag(x), imag(y))
    first = logic.bitwise_or(logic.lt(a, b), logic.bitwise_and(logic.eq(a, b), second))
    return logic.bitwise_and(first, logic.bitwise_and(logic.eq(x, x), logic.eq(y, y)))


def larger(x: Value, y: Value) -> Value:
    """The one that does not come before the other; NaN if either is."""
    return logic.select_n(logic.bitwise_or(before(x, y), logic.ne(y, y)), x, y)


def smaller(x: Value, y: Value) -> Value:
    """The one that does not come behind the other; NaN if either is."""
    return logic.select_n(logic.bitwise_or(before(y, x), logic.ne(y, y)), x, y)


__all__ = ["before", "larger", "smaller"]
