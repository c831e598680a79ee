"""Elementwise functions that solve a differential equation: their coefficients by a recurrence.

With ``y' = f(y) x'``, coefficient ``k`` of ``y`` follows from those below it, in ``k`` products. The formulas
are those of Griewank and Walther, Evaluating Derivatives, 2nd edition, section 13.2. What is not here
(``log``, ``asin``, ``erf``, ``pow``, ...) has a derivative made of what is, see ``rules_from_derivatives``.
"""

from math import log

from rabbet import lax
from rabbet.experimental.jet.interpreter import Taylor, rules
from rabbet.experimental.jet.rules_by_kind import convolved, total


def speeds(terms):
    """``j x_j`` for each coefficient, the coefficients of ``t x'(t)``; ``None`` in the place of ``x_0``."""
    return [None, *[scaled(a, j) for j, a in enumerate(terms, 1)]]


def scaled(a, factor):
    """``a`` times a number, which adopts the dtype of ``a``."""
    if factor == 1:
        return a
    return lax.neg(a) if factor == -1 else lax.mul(a, float(factor))


@rules.primitive(lax.div)
def div(op, x, y):
    """``z_k = (x_k - sum of y_j z_(k-j) for j > 0) / y_0``."""
    out = op(x.primal, y.primal)
    if not y.terms:
        return Taylor(out, tuple([op(a, y.primal) for a in x.terms]))
    zs, ys = [out], [y.primal, *y.terms]
    for k in range(1, len(ys)):
        known = convolved(lax.mul, ys, zs, k, 1)
        rest = lax.sub(x.terms[k - 1], known) if x.terms else lax.neg(known)
        zs.append(op(rest, y.primal))
    return Taylor(out, tuple(zs[1:]))


@rules.primitive(lax.exp)
def exp(op, x):
    """``k y_k = sum of j x_j y_(k-j)``."""
    out = op(x.primal)
    return Taylor(out, growth(out, x.terms))


@rules.primitive(lax.exp2)
def exp2(op, x):
    """That of ``exp``, run through at another speed."""
    out = op(x.primal)
    return Taylor(out, growth(out, [scaled(a, log(2.0)) for a in x.terms]))


@rules.primitive(lax.expm1)
def expm1(op, x):
    """That of ``exp``, whose value is one more."""
    out = op(x.primal)
    return Taylor(out, growth(lax.add(out, 1.0), x.terms))


def growth(start, terms):
    """The coefficients of the solution of ``y' = y x'``."""
    moves, ys = speeds(terms), [start]
    for k in range(1, len(moves)):
        ys.append(scaled(convolved(lax.mul, moves, ys, k, 1), 1 / k))
    return tuple(ys[1:])


def by_own_square(name, constant, linear, quadratic):
    """The rule of a function with ``y' = (constant + linear y + quadratic y^2) x'``."""

    def rule(op, x):
        moves, ys, slopes = speeds(x.terms), [op(x.primal)], []
        for k in range(1, len(moves)):
            square = scaled(convolved(lax.mul, ys, ys, k - 1), quadratic)
            slope = lax.add(square, scaled(ys[-1], linear)) if linear else square
            slopes.append(lax.add(slope, float(constant)) if constant and k == 1 else slope)
            ys.append(scaled(convolved(lax.mul, moves, slopes, k, 1), 1 / k))
        return Taylor(ys[0], tuple(ys[1:]))

    rule.__name__ = name
    return rule


rules.primitive(lax.tan)(by_own_square("tan", 1, 0, 1))
rules.primitive(lax.tanh)(by_own_square("tanh", 1, 0, -1))
rules.primitive(lax.logistic)(by_own_square("logistic", 0, 1, -1))


def power(name, exponent):
    """The rule of ``y = x ** exponent``: ``k x_0 y_k = sum of (j exponent - (k - j)) x_j y_(k-j)``."""

    def rule(op, x):
        xs, ys = [x.primal, *x.terms], [op(x.primal)]
        for k in range(1, len(xs)):
            parts = [scaled(lax.mul(xs[j], ys[k - j]), (j * exponent - (k - j)) / k) for j in range(1, k + 1)]
            ys.append(lax.div(total(parts), x.primal))
        return Taylor(ys[0], tuple(ys[1:]))

    rule.__name__ = name
    return rule


rules.primitive(lax.sqrt)(power("sqrt", 1 / 2))
rules.primitive(lax.rsqrt)(power("rsqrt", -1 / 2))
rules.primitive(lax.cbrt)(power("cbrt", 1 / 3))


def pair(x, first, second, sign):
    """The coefficients of two functions with ``first' = second x'`` and ``second' = sign first x'``."""
    moves, ys, zs = speeds(x.terms), [first(x.primal)], [second(x.primal)]
    for k in range(1, len(moves)):
        y = scaled(convolved(lax.mul, moves, zs, k, 1), 1 / k)
        zs.append(scaled(convolved(lax.mul, moves, ys, k, 1), sign / k))
        ys.append(y)
    return Taylor(ys[0], tuple(ys[1:])), Taylor(zs[0], tuple(zs[1:]))


@rules.primitive(lax.sin)
def sin(op, x):
    return pair(x, op, lax.cos, -1)[0]


@rules.primitive(lax.cos)
def cos(op, x):
    return pair(x, lax.sin, op, -1)[1]


@rules.primitive(lax.sinh)
def sinh(op, x):
    return pair(x, op, lax.cosh, 1)[0]


@rules.primitive(lax.cosh)
def cosh(op, x):
    return pair(x, lax.sinh, op, 1)[1]
