"""The rule for every other primitive with a derivative: its coefficients from its derivative.

The ``jvp`` rule computes ``y' = f'(x) x'`` with primitives, so Taylor mode can go through it: to know ``y'``
to order ``n - 1`` is to know ``y`` to order ``n``. Where the derivative is made of other functions of ``x``
that is one pass; where it is made of ``y`` itself, ``y`` is found order by order. Where only ``x'`` moves,
as for everything piecewise linear (maxima, sorting, gathering), each coefficient goes through it by itself.

So any primitive with a ``jvp`` rule, also a stranger's, has one here.
"""

import functools
from typing import NamedTuple

from rabbet import dtypes
from rabbet.experimental.jet.interpreter import Jet, Taylor, order_of, rules, terms_of
from rabbet.experimental.jet.recurrences import scaled
from rabbet.extend.functions import on_clear_caches
from rabbet.extend.passes import Jaxpr, Var, evaluate, stage
from rabbet.extend.primitive import Dual, Op, Zero, instantiate, tangent_aval, zero_tangent
from rabbet.extend.transform import Interpreter, jvp, run, typeof


class Derivative(NamedTuple):
    """A primitive's ``jvp`` rule as a program from operands, results and the tangents of what moves.

    ``outputs`` are the numbers of the results that have a tangent, in order; ``operands`` and ``results`` are
    the numbers of those on whose motion the derivative depends.
    """

    jaxpr: Jaxpr
    consts: list
    outputs: tuple
    operands: frozenset
    results: frozenset

    def __call__(self, operands, results, tangents):
        return evaluate(self.jaxpr, [*operands, *results, *tangents], self.consts)


@rules.derived_from(jvp)
def derived(op, *operands):
    outs = op(*[x.primal for x in operands])
    several = op.primitive.multiple_results
    results = [Taylor(out) for out in (outs if several else [outs])]
    if any(moves_smoothly(typeof(y.primal)) for y in results):
        avals = tuple([typeof(x.primal) for x in operands])
        # Operators with bodies are made anew for each call.
        find = derivative_of.__wrapped__ if "body" in op.primitive.kinds else derivative_of
        derivative = find(op, avals, tuple([bool(x.terms) for x in operands]))
        results = solved(derivative, operands, results)
    return results if several else results[0]


def moves_smoothly(aval):
    """Whether values of this type have coefficients: floating and complex ones."""
    return dtypes.issubdtype(aval.dtype, dtypes.inexact)


def solved(derivative, operands, results):
    """The results with their coefficients."""
    if not derivative.outputs:
        return results
    order = order_of(operands)
    if not derivative.operands and not derivative.results:
        primals = [x.primal for x in operands], [y.primal for y in results]
        moving = [x.terms for x in operands if x.terms]
        columns = [derivative(*primals, tangents) for tangents in zip(*moving, strict=True)]
        return with_terms(results, derivative.outputs, zip(*columns, strict=True))
    if not derivative.results:
        slopes = pushed(derivative, operands, results, order - 1)
        return with_terms(results, derivative.outputs, [integrated(s, 1, order) for s in slopes])
    for k in range(1, order + 1):
        slopes = pushed(derivative, operands, results, k - 1)
        known = [results[i].terms for i in derivative.outputs]
        known = [terms + integrated(s, k, k) for terms, s in zip(known, slopes, strict=True)]
        results = with_terms(results, derivative.outputs, known)
    return results


def with_terms(results, numbers, terms):
    """``results`` with new coefficients for those of the given numbers."""
    out = list(results)
    for i, column in zip(numbers, terms, strict=True):
        out[i] = Taylor(out[i].primal, tuple(column))
    return out


def integrated(slope, first, last):
    """The coefficients ``first`` to ``last`` of what has the derivative ``slope``."""
    known = [slope.primal, *terms_of(slope, last - 1)]
    return tuple([scaled(known[k - 1], 1 / k) for k in range(first, last + 1)])


def pushed(derivative, operands, results, order):
    """The derivative as a ``Taylor`` per output, to the given order."""
    xs = [cut(x, order, i in derivative.operands) for i, x in enumerate(operands)]
    ys = [cut(y, order, i in derivative.results) for i, y in enumerate(results)]
    speeds = [scaled_by_order(x.terms[: order + 1]) for x in operands if x.terms]
    if not order:
        return [Taylor(y) for y in derivative(*[[v.primal for v in vs] for vs in (xs, ys, speeds)])]
    values = [*xs, *ys, *speeds]
    moving = [v for v in values if v.terms]

    def on_moving(*tracers):
        each = iter(tracers)
        flat = [next(each) if v.terms else v.primal for v in values]
        return derivative(flat[: len(xs)], flat[len(xs) : len(xs) + len(ys)], flat[len(xs) + len(ys) :])

    return run(Jet(), on_moving, moving)


def cut(x, order, needed):
    """``x`` to a lower order; a constant where its motion is not needed."""
    return Taylor(x.primal, x.terms[:order] if needed else ())


def scaled_by_order(terms):
    """The coefficients of ``x'``, for those of ``x`` from order 1 on."""
    first, *others = [scaled(a, j) for j, a in enumerate(terms, 1)]
    return Taylor(first, tuple(others))


# ---------------------------------------------------------------------------------- the jvp rule as a program
class Solved(Op):
    """An operator whose results for certain operands are known: what a rule is given to work with, so that it
    does not compute them again.
    """

    __slots__ = ("known", "operands", "results")

    def __init__(self, op, operands, results):
        super().__init__(op.primitive, op.params)
        self.known, self.operands, self.results = op, operands, results

    def __call__(self, *args):
        mine = len(args) == len(self.operands)
        if mine and all(a is b for a, b in zip(args, self.operands, strict=True)):
            return list(self.results) if self.primitive.multiple_results else self.results[0]
        return self.known(*args)


@functools.lru_cache(maxsize=1024)
def derivative_of(op, avals, moving):
    """The ``Derivative`` of an operator for operands of the given types, of which some move."""
    out_avals = op.outs(avals)
    n, m = len(avals), len(out_avals)
    outputs = []

    def program(*values):
        operands, results, tangents = values[:n], values[n : n + m], iter(values[n + m :])
        duals = [
            Dual(x, next(tangents) if moves else zero_tangent(aval))
            for x, aval, moves in zip(operands, avals, moving, strict=True)
        ]
        outs = forward(op, duals, operands, results)
        outputs.extend([i for i, dual in enumerate(outs) if type(dual.tangent) is not Zero])
        return [outs[i].tangent for i in outputs]

    tangent_avals = [tangent_aval(aval) for aval, moves in zip(avals, moving, strict=True) if moves]
    closed = stage(program, [*avals, *out_avals, *tangent_avals], f"derivative of {op.primitive.name}")
    needed = [i for i, v in enumerate(closed.jaxpr.invars[: n + m]) if v in moved_by(closed.jaxpr)]
    operands = frozenset([i for i in needed if i < n and moving[i]])
    results = frozenset([i - n for i in needed if i >= n])
    return Derivative(closed.jaxpr, closed.consts, tuple(outputs), operands, results)


on_clear_caches(derivative_of.cache_clear)


def forward(op, duals, operands, results):
    """The results of an operator as duals, by its ``jvp`` rule."""
    if "body" in op.primitive.kinds:
        on_moving = lambda *moving: op(*merged(duals, moving))
        return run(Forward(), on_moving, [d for d in duals if type(d.tangent) is not Zero])
    outs = jvp.lookup(op.primitive)(Solved(op, operands, results), *duals)
    return outs if op.primitive.multiple_results else [outs]


def merged(duals, moving):
    """The operands of an operator: those without a tangent are plain values."""
    moving = iter(moving)
    return [d.primal if type(d.tangent) is Zero else next(moving) for d in duals]


class Forward(Interpreter):
    """Forward mode, for operators that are differentiated as a whole though they carry bodies."""

    __slots__ = ()
    table = jvp
    lifts_typed = False

    def lift(self, value):
        return Dual(value, zero_tangent(typeof(value)))

    def type_of(self, dual):
        return typeof(dual.primal)

    def wrap(self, dual):
        return dual.primal if type(dual.tangent) is Zero else super().wrap(dual)

    def join(self, a, b):
        return Dual(a.primal, b.tangent if type(a.tangent) is Zero else a.tangent)

    def force(self, dual, like):
        return Dual(dual.primal, dual.tangent if type(like.tangent) is Zero else instantiate(dual.tangent))


def moved_by(jaxpr):
    """The variables on whose motion the outputs depend: those connected to them through floating values.

    What goes through a comparison or an integer does not move with it.
    """
    found = {v for v in jaxpr.outvars if type(v) is Var}
    for eqn in reversed(jaxpr.equations):
        if not found.isdisjoint(eqn.outputs):
            found.update([v for v in eqn.inputs if type(v) is Var and moves_smoothly(v.aval)])
    return found
