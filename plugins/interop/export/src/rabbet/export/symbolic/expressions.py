"""A dimension as an expression: an integer polynomial over sizes and over floor divisions, remainders, maxima
and minima of such.

Expressions are kept in one form, so that two that are equal as polynomials are equal as objects. What is not
decided by the form is decided by bounds (``bounds.py``).
"""

from __future__ import annotations

import operator
from typing import Any, NamedTuple

from rabbet.errors import InconclusiveDimensionOperation
from rabbet.extend.shapes import SymbolicDimension


class Operation(NamedTuple):
    """What is not a polynomial: ``floordiv``, ``mod``, ``max`` or ``min`` of two dimensions."""

    name: str
    left: Any
    right: Any

    def __str__(self):
        return f"{self.name}({self.left}, {self.right})"


def made(scope, terms):
    """The dimension of terms, ``{monomial: factor}``: an int if it is constant.

    A monomial is a tuple of pairs of a factor (the name of a size, or an ``Operation``) and its power.
    """
    terms = {m: c for m, c in terms.items() if c}
    if not terms:
        return 0
    if len(terms) == 1 and () in terms:
        return terms[()]
    return Dimension(scope, terms)


class Dimension(SymbolicDimension):
    """A symbolic dimension, as ``export.symbolic_shape`` makes it.

    It adds, subtracts, multiplies, ``//``, ``%`` and compares with ints and others of its scope. Beside
    arrays and in true division it is an array: the number of elements, an int32.
    """

    __slots__ = ("scope", "terms", "_key", "_text")

    def __init__(self, scope, terms):
        self.scope, self.terms = scope, terms
        self._key = frozenset(terms.items())
        self._text = None

    # Its form ---------------------------------------------------------------------------------

    def __hash__(self):
        return hash(self._key)

    def __eq__(self, other):
        if isinstance(other, Dimension):
            return self is other or (self.scope is other.scope and self._key == other._key)
        return False if is_whole(other) else NotImplemented

    def __ne__(self, other):
        found = self.__eq__(other)
        return found if found is NotImplemented else not found

    def __str__(self):
        if self._text is None:
            self._text = _shown(self.terms)
        return self._text

    __repr__ = __str__

    def __reduce__(self):
        return operator.methodcaller("dimension", str(self)), (self.scope,)

    def names(self):
        """The sizes that it depends on, a set of names."""
        found = set()
        for monomial in self.terms:
            for factor, _ in monomial:
                if isinstance(factor, Operation):
                    found |= names_in(factor.left) | names_in(factor.right)
                else:
                    found.add(factor)
        return found

    def evaluate(self, sizes, operation):
        """Its value for values of the sizes by name. ``operation(name, left, right)`` computes what is no
        polynomial; values have ``+`` and ``*`` with each other and with ints.
        """
        total = None
        for monomial, count in self.terms.items():
            value = None
            for factor, power in monomial:
                if isinstance(factor, Operation):
                    sides = [value_of(s, sizes, operation) for s in (factor.left, factor.right)]
                    one = operation(factor.name, *sides)
                else:
                    one = sizes[factor]
                for _ in range(power):
                    value = one if value is None else value * one
            value = count if value is None else value if count == 1 else value * count
            total = value if total is None else total + value
        return total

    # Arithmetic -------------------------------------------------------------------------------

    def __add__(self, other):
        if not is_dimension(other):
            return _as_array(self, other, lambda a, b: a + b)
        _same_scope(self, other)
        terms = dict(self.terms)
        for monomial, count in terms_of(other).items():
            terms[monomial] = terms.get(monomial, 0) + count
        return made(self.scope, terms)

    __radd__ = __add__

    def __neg__(self):
        return made(self.scope, {m: -c for m, c in self.terms.items()})

    def __pos__(self):
        return self

    def __sub__(self, other):
        if not is_dimension(other):
            return _as_array(self, other, lambda a, b: a - b)
        return self + -1 * other

    def __rsub__(self, other):
        if not is_dimension(other):
            return _as_array(self, other, lambda a, b: b - a)
        return -self + other

    def __mul__(self, other):
        if not is_dimension(other):
            return _as_array(self, other, lambda a, b: a * b)
        _same_scope(self, other)
        terms = {}
        for left, c in self.terms.items():
            for right, d in terms_of(other).items():
                monomial = _product(left, right)
                terms[monomial] = terms.get(monomial, 0) + c * d
        return made(self.scope, terms)

    __rmul__ = __mul__

    def __pow__(self, power):
        if not is_whole(power) or power < 0:
            return _as_array(self, power, lambda a, b: a**b)
        result = 1
        for _ in range(int(power)):
            result = self * result
        return result

    def __floordiv__(self, other):
        return divided(self, other)[0] if is_dimension(other) else _as_array(self, other, lambda a, b: a // b)

    def __rfloordiv__(self, other):
        return divided(other, self)[0] if is_dimension(other) else _as_array(self, other, lambda a, b: b // a)

    def __mod__(self, other):
        return divided(self, other)[1] if is_dimension(other) else _as_array(self, other, lambda a, b: a % b)

    def __rmod__(self, other):
        return divided(other, self)[1] if is_dimension(other) else _as_array(self, other, lambda a, b: b % a)

    def __divmod__(self, other):
        return divided(self, other)

    def __rdivmod__(self, other):
        return divided(other, self)

    def __truediv__(self, other):
        return _as_array(self, other, lambda a, b: a / b, always=True)

    def __rtruediv__(self, other):
        return _as_array(self, other, lambda a, b: b / a, always=True)

    # Comparisons ------------------------------------------------------------------------------

    def __ge__(self, other):
        return _compared(self, other, ">=", lambda a, b: a >= b, lambda low, high: (low >= 0, high < 0))

    def __gt__(self, other):
        return _compared(self, other, ">", lambda a, b: a > b, lambda low, high: (low > 0, high <= 0))

    def __le__(self, other):
        return _compared(self, other, "<=", lambda a, b: a <= b, lambda low, high: (high <= 0, low > 0))

    def __lt__(self, other):
        return _compared(self, other, "<", lambda a, b: a < b, lambda low, high: (high < 0, low >= 0))

    def __bool__(self):
        return True  # as for ==: what is not 0 for all sizes is not 0

    def __index__(self):
        raise InconclusiveDimensionOperation(
            f"the symbolic dimension {self} is used where a number is needed while the function is traced\n"
            "  to fix: compute with arrays there (rnp.arange(n), lax.fori_loop), or export for a fixed size"
        )

    __int__ = __float__ = __index__

    def at_least(self, other):
        """The larger of it and another dimension."""
        return self.scope.extreme("max", self, other)

    def at_most(self, other):
        """The smaller of it and another dimension."""
        return self.scope.extreme("min", self, other)

    def __jax_array__(self):
        from rabbet.export.symbolic.values import dimension_as_value

        return dimension_as_value(dimension=self)


# Helpers ------------------------------------------------------------------------------------------


def is_whole(x):
    """Whether x is an int, NumPy's too."""
    return isinstance(x, int) or (hasattr(x, "__index__") and getattr(x, "ndim", None) == 0 and _numpy(x))


def _numpy(x):
    import numpy as np

    return isinstance(x, np.integer)


def is_dimension(x):
    """Whether x is an int or a symbolic dimension."""
    return isinstance(x, Dimension) or is_whole(x)


def terms_of(x):
    """The terms of a dimension, ints too."""
    return x.terms if isinstance(x, Dimension) else {(): int(x)} if x else {}


def names_in(x):
    """The sizes that a dimension depends on."""
    return x.names() if isinstance(x, Dimension) else set()


def value_of(x, sizes, operation):
    """``evaluate``, of ints too."""
    return x.evaluate(sizes, operation) if isinstance(x, Dimension) else x


def _as_array(dimension, other, operation, always=False):
    """Beside what is not a dimension, a dimension is an array."""
    if always or isinstance(other, (float, complex)):
        value = dimension.__jax_array__()
        return operation(value, other.__jax_array__() if isinstance(other, Dimension) else other)
    return NotImplemented


def _same_scope(x, y):
    if isinstance(y, Dimension) and x.scope is not y.scope:
        raise ValueError(
            f"{x} and {y} are of different scopes, so their sizes have nothing to do with each other; make "
            "them with one symbolic_shape, or give both the same scope=SymbolicScope()"
        )


def _product(left, right):
    powers = dict(left)
    for factor, power in right:
        powers[factor] = powers.get(factor, 0) + power
    return tuple(sorted(powers.items(), key=lambda pair: str(pair[0])))


def _compared(x, y, sign, on_arrays, decide):
    if not is_dimension(y):
        if on_arrays is None or isinstance(y, Dimension):
            return NotImplemented
        return _as_array(x, y, on_arrays)
    low, high = x.scope.bounds(x - y)
    yes, no = decide(low, high)
    if yes or no:
        return bool(yes)
    given = ", ".join(map(str, x.scope.constraints))
    always = {">": f"{x} >= {y + 1}", "<": f"{x} <= {y - 1}"}.get(sign, f"{x} {sign} {y}")
    never = {
        ">": f"{x} <= {y}", "<": f"{x} >= {y}", ">=": f"{x} <= {y - 1}", "<=": f"{x} >= {y + 1}",
    }[sign]  # fmt: skip
    raise InconclusiveDimensionOperation(
        f"Symbolic dimension comparison '{x}' {sign} '{y}' is inconclusive: {x} - ({y}) is between {low} and "
        f"{high}{f' under the constraints {given}' if given else ''}\n"
        f'  to fix: say symbolic_shape(..., constraints=["{always}"]) if it is always so, or ["{never}"] if '
        "it is never so; or compare values of arrays, with rnp.where or lax.cond"
    )


def divided(x, y):
    """The floor quotient and the remainder of two dimensions."""
    if is_whole(y) and y == 0:
        raise ZeroDivisionError(f"division of the dimension {x} by zero")
    if isinstance(x, Dimension) and isinstance(y, Dimension):
        _same_scope(x, y)
    scope = (x if isinstance(x, Dimension) else y).scope
    whole, rest = _exact_part(scope, x, y)
    if not isinstance(rest, Dimension) and not isinstance(y, Dimension):
        return whole + rest // int(y), rest % int(y)
    if is_whole(rest) and rest == 0:
        return whole, 0
    quotient = scope.known(Operation("floordiv", rest, y))
    remainder = scope.known(Operation("mod", rest, y))
    return whole + quotient, remainder


def _exact_part(scope, x, y):
    """``whole`` and ``rest`` with ``x == whole * y + rest``, where whole is found term by term."""
    leading = max(terms_of(y).items(), key=lambda term: (_degree(term[0]), str(term[0])))
    whole, rest = 0, x
    for monomial, count in list(terms_of(x).items()):
        factor = _quotient(monomial, leading[0])
        if factor is not None and count % leading[1] == 0:
            step = made(scope, {factor: count // leading[1]})
            left = rest - step * y
            if len(terms_of(left)) < len(terms_of(rest)) or len(terms_of(y)) == 1:
                whole, rest = whole + step, left
    return whole, rest


def _quotient(monomial, divisor):
    powers = dict(monomial)
    for factor, power in divisor:
        if powers.get(factor, 0) < power:
            return None
        powers[factor] -= power
    return tuple([(f, p) for f, p in powers.items() if p])


def _degree(monomial):
    return sum(power for _, power in monomial)


def _shown(terms):
    order = sorted(terms, key=lambda m: (_degree(m), str(m)), reverse=True)
    parts = []
    for monomial in order:
        count = terms[monomial]
        factors = [str(f) if p == 1 else f"{f}^{p}" for f, p in monomial]
        if abs(count) != 1 or not factors:
            factors.insert(0, str(abs(count)))
        sign = ("- " if count < 0 else "") if not parts else (" - " if count < 0 else " + ")
        parts.append(sign + "*".join(factors))
    return "".join(parts)


__all__ = ["Dimension", "Operation", "divided", "is_dimension", "is_whole", "made", "names_in", "value_of"]
