"""``SymbolicScope``: sizes that belong together, and what is known of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import inf
from typing import Any

from rabbet.export.symbolic import bounds, reading
from rabbet.export.symbolic.expressions import Dimension, Operation, made, names_in, terms_of


class SymbolicScope:
    """Sizes that mean the same wherever their names stand, and constraints on them.

    Dimensions of different scopes have nothing to do with each other. ``symbolic_shape`` makes a scope of its
    own unless it is given one, so shapes of several arguments need one for all.

    Args:
      constraints_str: texts such as ``"a >= b"``, ``"a <= 2*b"``, ``"mod(a, 3) == 0"``, ``"a == 4*c"``. An
        equality replaces its left side, a size or an operation, by its right side, in the others too.

    Raises:
      ValueError: for a text that is no constraint, and for one that never holds.

    Example:
      >>> from rabbet import export
      >>> scope = export.SymbolicScope(["a >= b"])
      >>> a, b = export.symbolic_shape("a, b", scope=scope)
      >>> a >= b, a + 1 > b
      (True, True)
    """

    def __init__(self, constraints_str: Sequence[str] = ()) -> None:
        self.constraints: list[str] = list(constraints_str)
        self.inequalities: list[Any] = []  # each is at least 0
        self.replaced: dict[Any, Any] = {}  # sizes and operations that are another dimension
        self.kept_bounds: dict[Any, Any] = {}
        if isinstance(constraints_str, str):
            raise TypeError("SymbolicScope takes a sequence of constraints, got one text")
        for text in sorted(self.constraints, key=_rank):
            self._add(text)
            self.kept_bounds.clear()

    def _add(self, text):
        sign = next((s for s in ("==", ">=", "<=") if s in text), None)
        if sign is None:
            raise ValueError(f"the constraint {text!r} needs one of '==', '>=' and '<='")
        left, right = (self.dimension(part) for part in text.split(sign, 1))
        if sign == "==" and left != right and len(terms_of(left)) == 1:
            ((monomial, count),) = terms_of(left).items()
            if count == 1 and len(monomial) == 1 and monomial[0][1] == 1:
                factor = monomial[0][0]
                if _contains(right, factor):
                    raise ValueError(f"the constraint {text!r} has {factor} on both sides")
                self.replaced[factor] = right
                self.replaced = {f: self.dimension(str(d)) for f, d in self.replaced.items()}
                return
        differences = {">=": [left - right], "<=": [right - left], "==": [left - right, right - left]}[sign]
        for difference in differences:
            if isinstance(difference, Dimension):
                self.inequalities.append(difference)
            elif difference < 0:
                raise ValueError(f"the constraint {text!r} is never true")

    def dimension(self, text: str) -> Any:
        """One dimension from a text."""
        return reading.dimension(text, self)

    def bounds(self, x: Any) -> tuple[float, float]:
        """Between which numbers a dimension of this scope lies, as far as is known; both ends included."""
        return bounds.bounds(x)

    def extreme(self, name: str, x: Any, y: Any) -> Any:
        """The larger (``"max"``) or the smaller (``"min"``) of two dimensions of this scope."""
        return bounds.extreme(name, x, y)

    def known(self, factor: Any) -> Any:
        """The dimension of a size or an operation: what a constraint says that it is, or itself."""
        if factor in self.replaced:
            return self.replaced[factor]
        return made(self, {((factor, 1),): 1})

    def range_of(self, name: str) -> tuple[float, float]:
        """The smallest and largest value of a size, from constraints on it alone."""
        low, high = 1, inf
        for one in self.inequalities:
            terms = terms_of(one)
            if set(terms) <= {(), ((name, 1),)} and ((name, 1),) in terms:
                count, rest = terms[((name, 1),)], terms.get((), 0)
                if count > 0:
                    low = max(low, -(rest // count))  # count * name + rest >= 0
                else:
                    high = min(high, rest // -count)
        return low, high

    def conditions(self, names: set[str]) -> Iterator[tuple[Any, str, Any]]:
        """What has to be looked at when the sizes of these names are known: pairs of dimensions with ``">="``
        or ``"=="`` between them. A size that is another dimension stands nowhere any more.
        """
        for one in self.inequalities:
            if names_in(one) <= names:
                yield one, ">=", 0
        for factor, right in self.replaced.items():
            left = made(self, {((factor, 1),): 1})
            if isinstance(factor, Operation) and names_in(left) | names_in(right) <= names:
                yield left, "==", right

    def __reduce__(self) -> Any:
        return SymbolicScope, (tuple(self.constraints),)

    def __repr__(self) -> str:
        return f"SymbolicScope({self.constraints})"


def _rank(text):
    """What is read first: what sizes are, then what operations are; other constraints are read in these."""
    left, sign, _ = text.partition("==")
    return (0 if left.strip().isidentifier() else 1) if sign else 2


def _contains(x, factor):
    """Whether a size or an operation stands in a dimension."""
    return any(
        one == factor
        or (isinstance(one, Operation) and (_contains(one.left, factor) or _contains(one.right, factor)))
        for monomial in terms_of(x) for one, _ in monomial
    )  # fmt: skip


__all__ = ["SymbolicScope"]
