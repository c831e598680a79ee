"""Rows of ``gamma.py``, ``bessel.py``, ``incomplete_gamma.py`` and ``incomplete_beta.py``.

The references are SciPy's, imported when a row is tried.
"""

import numpy as np
from rabbet import lax
from rabbet.testing.draws import among, between, scalar
from rabbet.testing.table import FLOATS, Row

from rabbet_special import bessel, gamma, incomplete_beta, incomplete_gamma


def scipy(name):
    """A function of ``scipy.special``."""

    def reference(*args):
        import scipy.special

        return getattr(scipy.special, name)(*args)

    return reference


# These functions are long to compile: what another row shows of the same rule is not tried again.
MAPPED = {"batching": "the primitive's own row shows it", "compiled": "the primitive's own row shows it"}
SISTER = {"batching": "one rule serves all elementwise primitives; igamma shows it"}


class Held:
    """A primitive with its first operands held at numbers, because it has no derivative by them."""

    multiple_results = False

    def __init__(self, primitive, *numbers):
        self.name = primitive.name
        self.kinds = primitive.kinds
        self._primitive, self._numbers = primitive, numbers

    def op(self):
        """The operation on the other operands."""
        return lambda *args: self._primitive(*[lax.full_like(args[0], n) for n in self._numbers], *args)


def held(primitive, reference, inputs, *numbers, **more):
    """A row for the derivatives of a primitive by its last operands."""

    def of_last(*args):
        return reference(*[np.full_like(args[0], n) for n in numbers], *args)

    note = "at " + ", ".join([str(n) for n in numbers])
    return Row(
        Held(primitive, *numbers), of_last, inputs, ("float64",), note=note, orders=2, apart=MAPPED, **more
    )


def digamma(x):
    """SciPy's, which has inf at -0."""
    return np.where(x == 0, -np.inf, scipy("digamma")(x))


def lgamma(x):
    """SciPy's, which has -inf at -inf."""
    return np.where(x == -np.inf, np.inf, scipy("gammaln")(x))


def polygamma(m, x):
    return scipy("polygamma")(m.astype(int), x)


def slope_by_shape(a, x):
    """The derivative of ``gammainc`` by its shape, from the series of the lower incomplete gamma function in
    powers of ``x`` (DLMF 8.7.1), differentiated term by term.
    """
    import scipy.special as sp

    terms = [(-x) ** n / (sp.factorial(n) * (a + n) ** 2) for n in range(60)]
    lower = sp.gammainc(a, x)
    return lower * (np.log(x) - sp.digamma(a)) - x**a / sp.gamma(a) * sum(terms)


def sample_slope(a, x):
    import scipy.stats

    return -slope_by_shape(a, x) / scipy.stats.gamma.pdf(x, a)


POSITIVE = between(0.3, 6.0)

GAMMAS = [
    Row(gamma.lgamma, lgamma, (POSITIVE,), FLOATS, orders=2, extremes=True, loose=4),
    Row(gamma.lgamma, lgamma, (between(-3.9, -3.1),), ("float32", "float64"), note="negative", loose=40),
    Row(gamma.digamma, digamma, (POSITIVE,), FLOATS, orders=2, extremes=True, loose=4),
    Row(gamma.polygamma, polygamma, (among([1, 2, 3]), POSITIVE), FLOATS, loose=2),
    held(gamma.polygamma, polygamma, (POSITIVE,), 2.0),
    Row(gamma.zeta, scipy("zeta"), (between(1.5, 5.0), POSITIVE), FLOATS),
    Row(gamma.zeta, scipy("zeta"), (scalar(1.5, 5.0), POSITIVE), ("float32",), note="scalar left"),
    held(gamma.zeta, scipy("zeta"), (POSITIVE,), 2.5),
]

BESSEL = [
    Row(bessel.bessel_i0e, scipy("i0e"), (between(-20.0, 20.0),), FLOATS, orders=2, extremes=True),
    Row(bessel.bessel_i1e, scipy("i1e"), (between(-20.0, 20.0),), FLOATS, orders=2, extremes=True),
]

DOUBLE = ("float32", "float64")

INCOMPLETE = [
    Row(incomplete_gamma.igamma, scipy("gammainc"), (POSITIVE, POSITIVE), FLOATS, extremes=True, loose=4),
    held(incomplete_gamma.igamma, scipy("gammainc"), (POSITIVE,), 1.5),
    Row(
        incomplete_gamma.igammac, scipy("gammaincc"), (POSITIVE, POSITIVE), DOUBLE, orders=1, extremes=True,
        loose=10, apart=SISTER,
    ),
    Row(incomplete_gamma.igamma_grad_a, slope_by_shape, (POSITIVE, POSITIVE), DOUBLE, loose=20, apart=SISTER),
    Row(
        incomplete_gamma.random_gamma_grad, sample_slope, (POSITIVE, POSITIVE), DOUBLE, loose=20,
        apart=SISTER,
    ),
    Row(
        incomplete_beta.regularized_incomplete_beta, scipy("betainc"),
        (scalar(0.3, 6.0), POSITIVE, between(0.05, 0.95)), FLOATS, loose=4,
    ),
    held(incomplete_beta.regularized_incomplete_beta, scipy("betainc"), (between(0.05, 0.95),), 1.5, 2.5),
    held(incomplete_beta.incomplete_beta_complement, scipy("betaincc"), (between(0.05, 0.95),), 1.5, 2.5),
]  # fmt: skip

ROWS = [*GAMMAS, *BESSEL, *INCOMPLETE]

__all__ = ["ROWS"]
