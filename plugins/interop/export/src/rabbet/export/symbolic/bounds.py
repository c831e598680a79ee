"""Between which numbers a dimension lies, for all sizes that a scope allows.

Intervals are added and multiplied term by term. A constraint, ``c >= 0``, is used by subtracting a multiple
of it that removes a term: ``x >= lower(x - k * c)`` for ``k > 0``. What is found is true and need not be the
  best.
"""

from __future__ import annotations

from fractions import Fraction
from math import inf
from typing import Any

from rabbet.export.symbolic.expressions import Dimension, Operation, is_whole, made, terms_of

DEEPEST = 2


def bounds(x, depth=DEEPEST):
    """The lowest and the highest value of a dimension, as far as is known: a pair."""
    if is_whole(x):
        return int(x), int(x)
    scope = x.scope
    found = scope.kept_bounds.get((x, depth))
    if found is None:
        found = scope.kept_bounds[x, depth] = _bounds(x, depth)
    return found


def _bounds(x, depth):
    low = high = 0
    for monomial, count in x.terms.items():
        one = _of_monomial(x.scope, monomial, depth)
        ends = (count * one[0], count * one[1])
        low, high = low + min(ends), high + max(ends)
    if depth == 0:
        return low, high
    for constraint in [*x.scope.inequalities, *facts_of(x)]:
        for monomial, count in terms_of(constraint).items():
            if monomial == () or monomial not in x.terms:
                continue
            factor = Fraction(x.terms[monomial], count)
            if factor.denominator != 1:
                continue
            rest = x - int(factor) * constraint
            other = bounds(rest, depth - 1)
            if factor > 0:
                low = max(low, other[0])
            else:
                high = min(high, other[1])
    return low, high


def _of_monomial(scope, monomial, depth):
    low = high = 1
    for factor, power in monomial:
        one = _of_operation(factor, depth) if isinstance(factor, Operation) else scope.range_of(factor)
        for _ in range(power):
            ends = [_times(a, b) for a in (low, high) for b in one]
            low, high = min(ends), max(ends)
    return low, high


def _times(a, b):
    return 0 if a == 0 or b == 0 else a * b


def _of_operation(operation, depth):
    left, right = bounds(operation.left, depth), bounds(operation.right, depth)
    if operation.name == "max":
        return max(left[0], right[0]), max(left[1], right[1])
    if operation.name == "min":
        return min(left[0], right[0]), min(left[1], right[1])
    if operation.name == "mod":
        if right[0] > 0:
            high = right[1] - 1
            return 0, min(high, left[1]) if left[0] >= 0 else high
        return (right[0] + 1, 0) if right[1] < 0 else (-inf, inf)
    if right[0] > 0:  # floordiv
        ends = [_floor(a, b) for a in left for b in right]
        return min(ends), max(ends)
    return -inf, inf


def _floor(a, b):
    if b == inf:
        return 0 if a >= 0 else -1
    return a if a in (inf, -inf) else a // b


def facts_of(x):
    """Dimensions that are never negative and speak of the operations in x."""
    found = []
    for monomial in x.terms:
        for factor, _ in monomial:
            if isinstance(factor, Operation):
                value = made(x.scope, {((factor, 1),): 1})
                left, right = factor.left, factor.right
                if factor.name == "max":
                    found += [value - left, value - right]
                elif factor.name == "min":
                    found += [left - value, right - value]
                elif factor.name == "floordiv" and is_whole(right) and right > 0:
                    found += [left - right * value, right * value + (right - 1) - left]
    return [f for f in found if isinstance(f, Dimension)]


def max_dim(x: Any, y: Any) -> Any:
    """The larger of two dimensions, ints or symbolic ones.

    Example:
      >>> from rabbet import export
      >>> (n,) = export.symbolic_shape("n")
      >>> export.max_dim(n, 1), export.max_dim(n, 4), export.max_dim(2, 3)
      (n, max(n, 4), 3)
    """
    return extreme("max", x, y)


def min_dim(x: Any, y: Any) -> Any:
    """The smaller of two dimensions, ints or symbolic ones.

    Example:
      >>> from rabbet import export
      >>> (n,) = export.symbolic_shape("n")
      >>> export.min_dim(n, 1), export.min_dim(n, 4)
      (1, min(n, 4))
    """
    return extreme("min", x, y)


def extreme(name, x, y):
    """The larger or the smaller of two dimensions, by name."""
    if is_whole(x) and is_whole(y):
        return max(x, y) if name == "max" else min(x, y)
    low, high = bounds(x - y)
    if low >= 0:
        return x if name == "max" else y
    if high <= 0:
        return y if name == "max" else x
    return (x if isinstance(x, Dimension) else y).scope.known(Operation(name, x, y))


__all__ = ["bounds", "extreme", "max_dim", "min_dim"]
