"""``jax.experimental.jet``, with a series of zeros that need not be written out."""

import importlib
import math

import rabbet as rb


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


ABSENT = (
    "JetTrace JetTracer ZeroTerm call_param_updaters def_comp def_deriv deflinear defzero deriv_prop "
    "jet_rules linear_prop zero_prop zero_term"
)
__all__ = ["ZeroSeries", "fact", "jet", "zero_series"]
