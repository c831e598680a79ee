"""The payload and the interpreter of Taylor mode, and its table of rules.

A payload is a value with the coefficients ``x_1 ... x_n`` of ``x(t) = x_0 + x_1 t + ... + x_n t^n``. They are
normalised, without factorials: then products need no binomials (Griewank and Walther, Evaluating Derivatives,
2nd edition, chapter 13). A value that does not move with ``t`` has no coefficients at all; that is part of
the payload's structure, and so it costs nothing.
"""

from typing import Any, NamedTuple

from rabbet.extend.primitive import full_of_type, tangent_aval
from rabbet.extend.transform import Interpreter, RuleTable, typeof


class Taylor(NamedTuple):
    """A value and the tuple of its coefficients of orders 1 to n; no coefficients: it is constant."""

    primal: Any
    terms: tuple = ()


rules = RuleTable("jet", doc="(op, *taylors) -> Taylor, or a list of them; some operand has coefficients")


class Jet(Interpreter):
    """Payload: ``Taylor``. A constant is a plain value."""

    __slots__ = ()
    table = rules

    def lift(self, value):
        return Taylor(value)

    def type_of(self, taylor):
        return typeof(taylor.primal)

    def wrap(self, taylor):
        return super().wrap(taylor) if taylor.terms else taylor.primal

    def join(self, a, b):
        """Coefficients if either side has them."""
        return Taylor(a.primal, a.terms or b.terms)

    def force(self, taylor, like):
        """Zeros for the coefficients of a constant."""
        return Taylor(taylor.primal, terms_of(taylor, len(like.terms)))

    def observed(self, taylor):
        return taylor.primal

    def concrete(self, taylor):
        """The value, for Python control flow."""
        return taylor.primal

    def describe(self):
        return "jet" + super().describe().removeprefix("Jet")


def order_of(taylors):
    """The order to which the payloads that move are known."""
    return max([len(x.terms) for x in taylors])


def terms_of(taylor, order):
    """The coefficients from order 1 on; zeros are made for a constant."""
    return taylor.terms or (nothing(taylor.primal),) * order


def nothing(primal):
    """The coefficient zero of a value like ``primal``."""
    return full_of_type(tangent_aval(typeof(primal)), 0)
