"""``jax.experimental.jet``, with a series of zeros that need not be written out."""

import functools
import importlib
import math

import rabbet as rb

from rabbet_jax.primitives import Table


class ZeroSeries:
    """A series of which every coefficient is zero."""

    def __repr__(self):
        return "zero_series"


zero_series = ZeroSeries()


def fact(n):
    """``n!``, as a float."""
    return float(math.factorial(n)) if isinstance(n, int) else rb.numpy.exp(rb.lax.lgamma(n + 1.0))


def jet(fun, primals, series, **options):
    """``rabbet.experimental.jet.jet``; an entry of ``series`` may be ``zero_series``."""
    lengths = [len(s) for s in series if not isinstance(s, ZeroSeries)]
    order = max(lengths, default=1)
    filled = [
        rb.tree.map(lambda x: [rb.numpy.zeros_like(x)] * order, p) if isinstance(s, ZeroSeries) else s
        for p, s in zip(primals, series, strict=False)
    ]
    own = importlib.import_module("rabbet.experimental.jet")
    return own.jet(fun, primals, [*filled, *series[len(filled) :]], **options)


def _on_derivatives(primitive, rule):
    """A rule of JAX's takes and gives lists of derivatives; Rabbet's has them divided by factorials."""

    def translated(op, *taylors):
        order = max(len(x.terms) for x in taylors)
        primals = [x.primal for x in taylors]
        series = [
            [term * math.factorial(k) for k, term in enumerate(x.terms, 1)]
            or [rb.numpy.zeros_like(x.primal)] * order
            for x in taylors
        ]
        out, terms = rule(primals, series, **op.params)
        kind = type(taylors[0])
        scaled = lambda found: tuple([t / math.factorial(k) for k, t in enumerate(found, 1)])
        if primitive.multiple_results:
            return [kind(o, scaled(t)) for o, t in zip(out, terms, strict=True)]
        return kind(out, scaled(terms))

    return translated


class _Rules(Table):
    def __setitem__(self, primitive, rule):
        importlib.import_module("rabbet.experimental.jet")  # which has the table
        super().__setitem__(primitive, rule)


# `jet_rules[primitive] = rule`, with `rule(primals, series, **params)` giving a value and its series.
jet_rules = _Rules("jet", _on_derivatives)


def zero_prop(prim, primals_in, series_in, **params):
    """What does not move: a value, and a series of zeros."""
    out = prim.bind(*primals_in, **params)
    return out, [rb.numpy.zeros_like(out) for _ in series_in[0]]


def linear_prop(prim, primals_in, series_in, **params):
    """What is linear in all operands together acts on each coefficient."""
    out = prim.bind(*primals_in, **params)
    return out, [prim.bind(*column, **params) for column in zip(*series_in, strict=True)]


def deriv_prop(prim, deriv, primals_in, series_in):
    """A function of one operand by that of its first derivative."""
    (x,), (terms,) = primals_in, series_in
    out = prim.bind(x)
    if not terms:
        return out, []
    slope, slopes = jet(deriv, (x,), (list(terms[:-1]),)) if len(terms) > 1 else (deriv(x), [])
    slopes = [slope, *slopes]
    # The derivatives of a product, of which one factor is the argument's motion.
    return out, [
        sum(math.comb(k, i) * slopes[i] * terms[k - i] for i in range(k + 1)) for k in range(len(terms))
    ]


def defzero(prim):
    """The results of a primitive do not move."""
    jet_rules[prim] = functools.partial(zero_prop, prim)


def deflinear(prim):
    """A primitive is linear in all operands together."""
    jet_rules[prim] = functools.partial(linear_prop, prim)


def def_deriv(prim, deriv):
    """A primitive of one operand, by a function that is its first derivative."""
    jet_rules[prim] = functools.partial(deriv_prop, prim, deriv)


def def_comp(prim, comp, **kwargs):
    """A primitive, by a function of the same operands made of others."""

    def rule(primals, series, **params):
        return jet(functools.partial(comp, **params, **kwargs), tuple(primals), tuple(map(list, series)))

    jet_rules[prim] = rule


ABSENT = "JetTrace JetTracer ZeroTerm call_param_updaters zero_term"
__all__ = [
    "ZeroSeries", "def_comp", "def_deriv", "deflinear", "defzero", "deriv_prop", "fact", "jet", "jet_rules",
    "linear_prop", "zero_prop", "zero_series",
]  # fmt: skip
