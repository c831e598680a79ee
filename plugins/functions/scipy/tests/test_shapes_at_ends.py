"""Distributions at tiny and huge shapes, and where large terms cancel, beside mpmath's values."""

import numpy as np
import pytest
import rabbet as rb
from rabbet.scipy import stats

BIG = float(np.finfo(np.float64).max)

# What is compared, the arguments, the right value.
VALUES = [
    ("beta.logpdf", (0.5, 100000.0, 100000.0), 5.87724372012036),
    ("beta.logpdf", (0.3, 3000000000.0, 7000000000.0), 11.374310805866541),
    ("beta.logpdf", (1e-10, 0.001, 10000000000.0), 15.118672044606553),
    ("beta.logsf", (0.3, 1e-10, 1.0), -22.84022417113829),
    ("beta.logcdf", (0.9, 8.0, 0.25), -2.3887298835127866),
    ("beta.sf", (1e-12, 0.25, 1000000000.0), 0.8038483016356235),
    ("beta.cdf", (0.999, 3.0, 0.001), 0.005395767676568924),
    ("betabinom.logpmf", (10000000000.0, 1000000000000.0, 2.5, 1.5), -32.91594272626518),
    ("betabinom.logpmf", (100000.0, 1e290, 0.5, 0.9), -340.38965656345357),
    ("betabinom.logpmf", (0.0, 100.0, 100000.0, 100000.0), -69.28998036197754),
    ("binom.logpmf", (700.0, 10000000000.0, 1e-10), -3890.9508566737713),
    ("binom.logpmf", (500000000.0, 1000000000.0, 0.5), -10.587424271367933),
    ("binom.logpmf", (3.0, 1e300, 1e-300), -2.791759469228055),
    ("cauchy.logcdf", (-BIG,), -710.9274427792334),
    ("cauchy.logsf", (1e300,), -691.9202577840631),
    ("gamma.logpdf", (10000000000.0, 10000000000.0), -12.431863998183234),
    ("gamma.logpdf", (700.0, 700.0), -4.1945977483373245),
    ("gamma.cdf", (np.inf, np.inf), 1.0),
    ("gennorm.logpdf", (0.5, 1e300), -0.6931471805599453),
    ("gennorm.cdf", (0.5, 2000.0), 0.7500721109644233),
    ("nbinom.logpmf", (10000000000.0, 7.0, 1e-10), -30.60510213990056),
    ("nbinom.logpmf", (100000.0, 100000.0, 0.5), -7.02197610596976),
    ("nbinom.logpmf", (100000.0, 1e-300, 0.9), -230960.79775276777),
    ("pareto.cdf", (1.0, np.inf), 0.0),
    ("pareto.logpdf", (1.0, np.inf), np.inf),
    ("pareto.sf", (1.0, np.inf), 1.0),
    ("poisson.logpmf", (10000000000.0, 10000000000.0), -12.431863998183234),
    ("poisson.logpmf", (700.0, 700.0), -4.1945977483373245),
    ("t.logpdf", (1.5, 1e300), -2.0439385332046727),
    ("t.logpdf", (0.5, 1e-300), -690.7755278982137),
    ("truncnorm.logcdf", (0.001, 0.0, 0.5), -6.173630464597898),
    ("truncnorm.logsf", (1e-10, 0.0, 1.5), -9.209347006421578e-11),
    ("truncnorm.logpdf", (5e-11, 0.0, 1e-10), 23.025850929940457),
]


NAMES = sorted({name for name, *_ in VALUES})


@pytest.mark.forbidden("debug_nans", "debug_infs")
@pytest.mark.parametrize("name", NAMES)
def test_values_beside_exact_ones(name):
    law, _, method = name.partition(".")
    columns = np.array([args for other, args, _ in VALUES if other == name]).T
    wanted = np.array([value for other, _, value in VALUES if other == name])
    with rb.config.override(enable_x64=True):
        got = np.asarray(getattr(getattr(stats, law), method)(*columns))
    same = got == wanted
    assert np.all(same | (abs(got - np.where(same, 0.0, wanted)) <= 1e-14 * abs(wanted))), (got, wanted)


def test_derivatives_by_shapes_that_cancel():
    with rb.config.override(enable_x64=True):
        by_p = rb.grad(stats.binom.logpmf, argnums=2)(5e8, 1e9, 0.5)
        mixed = rb.grad(rb.grad(stats.beta.logpdf, argnums=1), argnums=0)(0.25, 1.0, 2.0)
        by_shape = rb.grad(stats.gamma.logpdf, argnums=1)(1e10, 1e10)
    assert float(by_p) == 0.0
    assert float(mixed) == pytest.approx(4.0, rel=1e-14)  # 1 / x, where the power itself is 0
    assert float(by_shape) == pytest.approx(5e-11, rel=1e-4)  # log a - digamma(a)
