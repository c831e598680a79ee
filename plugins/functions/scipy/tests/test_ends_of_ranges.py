"""Special functions at the smallest and the largest numbers: a factor of 2 on the way neither vanishes nor
overflows.
"""

import numpy as np
import pytest
import rabbet as rb
import rabbet.numpy as rnp
from rabbet.scipy import special, stats

scipy_special = pytest.importorskip("scipy.special")

SMALLEST = {"float32": 1.2e-38, "float64": 2.3e-308}
LARGEST = {"float32": 3e38, "float64": 1.7e308}
FUNCTIONS = ["erfcinv", "exp1", "expi", "gamma", "k0", "k1e", "y0"]


@pytest.mark.forbidden("debug_nans", "debug_infs")
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_smallest_and_the_largest_numbers(dtype):
    low, high = SMALLEST[dtype], LARGEST[dtype]
    x = np.array([low, 1e-37, 1e-20, -1e-20, -1e-37, 1.0, high], dtype)
    with rb.config.override(enable_x64=True):
        found = rb.jit(lambda x: [getattr(special, name)(x) for name in FUNCTIONS])(x)
    for name, got in zip(FUNCTIONS, found, strict=True):
        wanted = getattr(scipy_special, name)(x.astype("float64"))
        near = {"float32": 3e-5, "float64": 1e-12}[dtype]
        if name == "y0":
            # SciPy's own angle is not exact at the largest number: the size is what counts there.
            assert 0 < abs(float(got[-1])) <= np.sqrt(2 / np.pi) / np.sqrt(high) * 1.01
            got, wanted = got[:-1], wanted[:-1]
        # What is below the smallest normal number may be 0.
        np.testing.assert_allclose(got, wanted.astype(dtype), rtol=near, atol=low, err_msg=name)


@pytest.mark.parametrize(("dtype", "x"), [("float32", 35.0), ("float32", 35.04), ("float64", 171.6)])
def test_the_largest_values_of_gamma(dtype, x):
    with rb.config.override(enable_x64=True):
        found = special.gamma(rnp.asarray(x, dtype))
    wanted = scipy_special.gamma(float(np.asarray(x, dtype)))
    assert float(found) == pytest.approx(wanted, rel=1e-4 if dtype == "float32" else 1e-11)


# Two arguments of different sizes: what their sum, quotient or square loses.
PAIRS = {
    "betaln": [(1e20, -2.5), (-2.5, 1e15)], "beta": [(1e20, -2.5)], "poch": [(1e20, 0.5), (1e16, -2.5)],
    "kl_div": [(1e-300, 1e20), (0.5, 0.25)], "rel_entr": [(1e-300, 1e20)], "owens_t": [(1e300, 1e20)],
    "kv": [(1e8, 1e8), (2.0, 1.0)], "stdtr": [(1e20, 2.0), (np.inf, -2.5), (1e10, 0.5), (2e9, -8.0)],
}  # fmt: skip


@pytest.mark.parametrize("name", PAIRS)
def test_arguments_of_different_sizes(name):
    with rb.config.override(enable_x64=True):
        found = getattr(special, name)(*map(rnp.asarray, np.array(PAIRS[name]).T))
    wanted = [getattr(scipy_special, name)(*pair) for pair in PAIRS[name]]
    np.testing.assert_allclose(found, wanted, rtol=1e-8)


@pytest.mark.needs("grad")
def test_densities_and_probabilities():
    """Logarithms of probabilities near 1, and of densities where a square is not a number."""
    scipy_stats = pytest.importorskip("scipy.stats")
    with rb.config.override(enable_x64=True):
        for name, method, x, *args in (
            ("gamma", "logcdf", 40.0, 0.5), ("gamma", "logsf", 1e-20, 2.0), ("chi2", "logcdf", 40.0, 2.0),
            ("beta", "logcdf", 0.999999, 2.0, 3.0), ("beta", "logsf", 1e-20, 0.5, 0.5),
            ("cauchy", "logpdf", 1e300), ("cauchy", "logpdf", -0.25),
        ):  # fmt: skip
            found = getattr(getattr(stats, name), method)(x, *args)
            wanted = getattr(getattr(scipy_stats, name), method)(x, *args)
            np.testing.assert_allclose(found, wanted, rtol=1e-10, atol=1e-290, err_msg=f"{name} {method}")
        assert float(rb.grad(stats.cauchy.logpdf)(1e300)) == pytest.approx(-2e-300)
        slope = rb.grad(lambda t: special.stdtr(np.inf, t))(0.5)
        assert float(slope) == pytest.approx(np.exp(-0.125) / np.sqrt(2 * np.pi), rel=1e-9)


INF = np.inf
# Limits at infinity, and what is as small as its arguments: (arguments, value). gammaincc's are by mpmath.
LIMITS = {
    "zeta": [((2.0, INF), 0.0), ((1.5, INF), 0.0), ((INF, 2.0), 0.0), ((INF, 0.5), INF)],
    "poch": [((INF, 0.5), INF), ((INF, -0.5), 0.0), ((INF, 0.0), 1.0), ((2.0, -INF), np.nan)],
    "betaln": [((INF, -2.5), INF), ((-2.5, INF), INF), ((INF, -2.0), INF), ((0.0, INF), INF)],
    "beta": [((INF, -2.5), -INF), ((INF, -1.5), INF), ((INF, 2.5), 0.0), ((0.0, INF), INF)],
    "iv": [((INF, 2.0), 0.0), ((INF, 0.0), 0.0), ((2.0, INF), INF)],
    "comb": [((INF, 2.0), INF), ((INF, 0.0), 1.0), ((5.0, 2.0), 10.0)],
    "boxcox1p": [((1e-20, 1e-300), 1e-20), ((-1e-20, -1e-300), -1e-20), ((1.0, 1e-300), np.log(2))],
    "boxcox": [((1 + 2**-50, 1e-300), 2**-50), ((1.5, 1e-17), np.log(1.5))],
    "stdtr": [((1e-300, 1e8), 0.5), ((1e-300, -1e8), 0.5), ((1e-3, 1e160), 0.6555159226967153)],
    "gammaincc": [
        ((1e-10, 1e-3), 6.3315393622138768e-10), ((1e-20, 0.5), 5.5977359477616078e-21),
        ((1e-5, 1e-3), 6.3313471405293549e-05), ((1e-5, 1.0), 2.1938617914074713e-06),
        ((0.1, 0.3), 0.091642010269965725), ((0.5, 1.0), 0.15729920705028513),
        ((1e-10, 5.0), 1.1482955915436804e-13),
    ],
}  # fmt: skip


@pytest.mark.forbidden("debug_nans", "debug_infs")
@pytest.mark.parametrize("name", LIMITS)
def test_limits_and_what_is_as_small_as_its_arguments(name):
    arguments, wanted = zip(*LIMITS[name], strict=True)
    with rb.config.override(enable_x64=True):
        found = getattr(special, name)(*map(rnp.asarray, np.array(arguments).T))
        assert np.isnan(special.polygamma(2, np.nan)) and float(special.polygamma(1, INF)) == 0
    np.testing.assert_allclose(found, wanted, rtol=1e-13)


@pytest.mark.forbidden("debug_nans", "debug_infs")
@pytest.mark.needs("grad", "jit")
def test_a_slope_that_overflows_is_infinite_with_its_sign():
    slope = rb.grad(special.i1)
    for f in (slope, rb.jit(slope)):
        assert f(100.0) == f(-100.0) == INF
