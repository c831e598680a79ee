"""First and second derivatives of special functions, densities and activations, in every order of modes, from
the smallest to large arguments, beside difference quotients of mpmath's functions in 430 digits.
"""

import numpy as np
import pytest
import rabbet as rb
import rabbet.nn
import rabbet.numpy as rnp
from rabbet.scipy import special as s
from rabbet.scipy import stats as st

pytestmark = pytest.mark.needs("cpu", "jit", "grad")
mp = pytest.importorskip("mpmath")

SMALL, LARGE = (1e-30, 1e-8, 0.001), (1e8, 1e18, 1e30)
MIDDLE = (0.1, 0.5, 1.0, 1.5, 2.5, 5.0, 10.0, 17.0, 30.0, 80.0)
POSITIVE = (*SMALL, *MIDDLE, *LARGE)
ANY = (*POSITIVE, *[-x for x in POSITIVE])
NEAR = (*SMALL, *MIDDLE, *[-x for x in (*SMALL, *MIDDLE)])
UNIT = (1e-30, 1e-8, 1e-3, 0.1, 0.3, 0.5, 0.7, 0.9, 0.999, 1 - 2**-20)
POLES = (-0.5, -1.5, -9.5, -20.25)


def normal(x):
    return mp.erfc(-x / mp.sqrt(2)) / 2


def log_normal(x):
    if x > -1e3:
        return mp.log(normal(x))
    return -x * x / 2 - mp.log(-x) - mp.log(2 * mp.pi) / 2 + mp.log(1 - 1 / x**2)


def log_gamma(x):
    return mp.log(abs(mp.gamma(x))) if x < 0 else mp.loggamma(x)


# The function, mpmath's, and where.
FUNCTIONS = {
    "gamma": (s.gamma, mp.gamma, (1e-8, 0.1, 0.5, 2.5, 7.0, 20.0, -0.5, -1.5)),
    "gammaln": (s.gammaln, log_gamma, (*SMALL, *MIDDLE, 1e8, *POLES)),
    "digamma": (s.digamma, mp.digamma, (1e-8, *MIDDLE, 1e8, *POLES)),
    "polygamma": (lambda x: s.polygamma(2, x), lambda x: mp.psi(2, x), (0.1, 1.0, 3.0, 30.0, 1e4, -0.5)),
    "erf": (s.erf, mp.erf, ANY), "erfc": (s.erfc, mp.erfc, ANY), "erfinv": (s.erfinv, mp.erfinv, UNIT),
    "ndtr": (s.ndtr, normal, NEAR), "log_ndtr": (s.log_ndtr, log_normal, (*NEAR, -13.0, -38.0, -1e8)),
    "logit": (s.logit, lambda x: mp.log(x / (1 - x)), [x for x in UNIT if x != 0.5]),
    "softplus": (rabbet.nn.softplus, lambda x: mp.log1p(mp.exp(x)), NEAR),
    "log_sigmoid": (rabbet.nn.log_sigmoid, lambda x: -mp.log1p(mp.exp(-x)), NEAR),
    "logaddexp": (lambda x: rnp.logaddexp(x, 1.0), lambda x: mp.log(mp.exp(x) + mp.e), NEAR),
    "squareplus": (rabbet.nn.squareplus, lambda x: (x + mp.sqrt(x * x + 4)) / 2, (-1e3, -30.0, 0.5, 30.0)),
    "gelu": (lambda x: rabbet.nn.gelu(x, approximate=False), lambda x: x * normal(x), (-8.0, -0.5, 0.5, 3.0)),
    "entr": (s.entr, lambda x: -x * mp.log(x), POSITIVE),
    "rel_entr": (lambda x: s.rel_entr(x, 2.0), lambda x: x * mp.log(x / 2), POSITIVE),
    "kl_div": (lambda x: s.kl_div(x, 2.0), lambda x: x * mp.log(x / 2) - x + 2, POSITIVE),
    "exp1": (s.exp1, mp.e1, (1e-8, *MIDDLE)), "expi": (s.expi, mp.ei, (1e-8, 0.1, 5.0, 30.0, -1e-8, -5.0)),
    "i0": (s.i0, lambda x: mp.besseli(0, x), (-5.0, *SMALL[1:], *MIDDLE)),
    "numpy's i0": (rnp.i0, lambda x: mp.besseli(0, x), (-5.0, *SMALL[1:], *MIDDLE)),
    "i1": (s.i1, lambda x: mp.besseli(1, x), (-5.0, *SMALL[1:], *MIDDLE)),
    "i1e": (s.i1e, lambda x: mp.besseli(1, x) * mp.exp(-x), (*SMALL[1:], 0.5, 3.0, 30.0)),
    "beta": (lambda x: s.beta(x, 2.5), lambda x: mp.beta(x, 2.5), (1e-8, 0.1, 1.0, 3.0, 30.0, 1e4)),
    "betaln": (lambda x: s.betaln(x, 2.5), lambda x: mp.log(mp.beta(x, 2.5)), (1e-8, 0.1, 3.0, 1e4, 1e8)),
    "poch": (lambda x: s.poch(x, 3.0), lambda x: mp.rf(x, 3), (0.1, 1.0, 3.0, 30.0)),
    "zeta": (lambda x: s.zeta(2.5, x), lambda x: mp.zeta(mp.mpf(2.5), x), (1e-8, 0.1, 1.0, 30.0, 1e4)),
    "gammaincc": (
        lambda x: s.gammaincc(2.5, x), lambda x: mp.gammainc(mp.mpf(2.5), x, mp.inf, regularized=True),
        (1e-8, 0.1, 1.0, 3.0, 30.0, 80.0),
    ),
    "kv": (lambda x: s.kv(1.5, x), lambda x: mp.besselk(mp.mpf(1.5), x), (1e-3, 0.5, 3.0, 30.0)),
    "sinc": (rnp.sinc, lambda x: mp.sinc(mp.pi * x), (1e-8, 1e-3, 0.1, 0.3, 0.5, 1.0, 3.0)),
    "log1p": (rnp.log1p, mp.log1p, (-0.999, *POSITIVE[:-2])),
    "cbrt": (rnp.cbrt, mp.cbrt, (1e-8, 0.5, 8.0, 1e8)),
    "tan": (rnp.tan, mp.tan, (1e-30, 0.5, 1.5, 3.0)), "arctan": (rnp.arctan, mp.atan, NEAR),
    "norm.logcdf": (st.norm.logcdf, log_normal, (-80.0, -30.0, -13.0, -3.0, 0.5, 5.0)),
    "norm.logsf": (st.norm.logsf, lambda x: log_normal(-x), (80.0, 30.0, 13.0, 3.0, 0.5, -5.0)),
    "cauchy.logpdf": (st.cauchy.logpdf, lambda x: -mp.log(mp.pi) - mp.log1p(x * x), (-0.5, 3.0, 1e-8, 1e8)),
    "logistic.logpdf": (st.logistic.logpdf, lambda x: -x - 2 * mp.log1p(mp.exp(-x)), NEAR),
    "gamma.logpdf": (
        lambda x: st.gamma.logpdf(x, 2.5), lambda x: 1.5 * mp.log(x) - x - mp.loggamma(2.5),
        (*SMALL, 0.1, 1.0, 30.0),
    ),
    "poisson.logpmf by mu": (
        lambda x: st.poisson.logpmf(3, x), lambda x: 3 * mp.log(x) - x - mp.log(6),
        (*SMALL, 0.1, 1.0, 30.0),
    ),
    "t.logpdf by df": (
        lambda x: st.t.logpdf(1.5, x),
        lambda v: log_gamma((v + 1) / 2) - log_gamma(v / 2) - mp.log(v * mp.pi) / 2
        - (v + 1) / 2 * mp.log1p(2.25 / v),
        (0.1, 1.0, 5.0),
    ),
}  # fmt: skip
SAMPLE = ("log_ndtr", "softplus", "rel_entr", "sinc", "logistic.logpdf")


def exact(function, x, order):
    """A derivative, by a central difference whose rounding and whose own error are below 1e-50."""
    with mp.workdps(430):
        x = mp.mpf(x)
        h = min(abs(x), 1) * mp.mpf(10) ** -40
        after, before = mp.re(function(x + h)), mp.re(function(x - h))
        if order == 1:
            return (after - before) / (2 * h)
        return (after + before - 2 * mp.re(function(x))) / (h * h)


def compiled(f, x):
    """Its derivatives at all of ``x``, by order and by name of the modes."""
    one = rnp.ones_like(x)

    def forward(g):
        return lambda x: rb.jvp(g, (x,), (one,))[1]

    def reverse(g):
        return rb.grad(lambda x: g(x).sum())

    modes = {"f": forward, "r": reverse}

    def all_of(x):
        twice = {a + b: modes[a](modes[b](f))(x) for a in modes for b in modes}
        return {1: {a: modes[a](f)(x) for a in modes}, 2: twice}

    return rb.jit(all_of)(x)


def wrong(name, dtype):
    f, function, points = FUNCTIONS[name]
    info = np.finfo(dtype)
    points = np.unique(np.array(points, dtype))
    with rb.config.override(enable_x64=True):
        found = compiled(f, rnp.asarray(points))
    out = []
    for order in (1, 2):
        for i, x in enumerate(points.tolist()):
            right = exact(function, x, order)
            for modes, values in found[order].items():
                got = float(values[i])
                if abs(right) < 8 * info.tiny:
                    good = abs(got) < 32 * info.tiny
                elif abs(right) > info.max / 8:
                    good = abs(got) > info.max / 64 and (got > 0) == (right > 0)
                else:
                    good = np.isfinite(got) and abs(got - right) <= 2e4 * info.eps * abs(right)
                if not good:
                    out.append((x, modes, got, mp.nstr(right, 10)))
    return out


@pytest.mark.parametrize("name", SAMPLE)
def test_a_sample(name):
    assert not wrong(name, "float32")


@pytest.mark.exhaustive
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_all(name, dtype):
    assert not wrong(name, dtype)


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_poch_by_both_operands(order):
    mixed = rb.grad(rb.grad(s.poch, order[0]), order[1])(1.5, 2.0)
    np.testing.assert_allclose(mixed, 5.651468148, rtol=1e-5)  # mpmath, at a whole number of factors
