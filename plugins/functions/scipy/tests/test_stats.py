"""rabbet.scipy.stats: every function of every distribution against SciPy; derivatives; samples."""

import importlib
import math
import warnings

import numpy as np
import pytest
import rabbet as rb
import rabbet.numpy as rnp
import rabbet.random
import scipy.stats
from rabbet.scipy import stats

RNG = np.random.default_rng(11)
N = 12
NAN, INF = math.nan, math.inf


def drawn(low, high):
    return RNG.uniform(low, high, N)


# name: (arguments inside the support, shapes, arguments outside of it and at its ends; all unscaled)
CONTINUOUS = {
    "beta": (drawn(0.05, 0.95), (drawn(0.5, 4), drawn(0.5, 4)), (-0.5, 1.5)),
    "cauchy": (drawn(-9, 9), (), (INF, -INF)),
    "chi2": (drawn(0.1, 9), (drawn(0.5, 9),), (-0.5, INF)),
    "expon": (drawn(0.1, 9), (), (-0.5, 0.0)),
    "gamma": (drawn(0.1, 9), (drawn(0.5, 9),), (-0.5, INF)),
    "gennorm": (drawn(-3, 3), (drawn(0.5, 3),), (0.0, INF)),
    "gumbel_l": (drawn(-9, 2), (), (-50.0, 7.0)),
    "gumbel_r": (drawn(-2, 9), (), (50.0, -7.0)),
    "laplace": (drawn(-9, 9), (), (0.0, INF)),
    "logistic": (drawn(-9, 9), (), (50.0, -50.0)),
    "norm": (drawn(-9, 9), (), (-30.0, 30.0)),
    "pareto": (drawn(1.1, 9), (drawn(0.5, 4),), (0.5, -1.0)),
    "t": (drawn(-9, 9), (drawn(0.5, 9),), (0.0, 1e5)),
    "truncnorm": (drawn(-0.9, 0.9), (drawn(-3, -1), drawn(1, 3)), (-5.0, 5.0)),
    "uniform": (drawn(0.05, 0.95), (), (-0.5, 1.5)),
    "vonmises": (drawn(-3, 3), (drawn(0.5, 9),), (0.0, 1.0)),
    "wrapcauchy": (drawn(0.1, 6), (drawn(0.1, 0.9),), (-0.5, 7.0)),
}
UNSCALED = ("gennorm", "vonmises", "wrapcauchy")
DISCRETE = {
    "bernoulli": (drawn(0.1, 0.9),),
    "betabinom": (RNG.integers(3, 9, N).astype(float), drawn(0.5, 4), drawn(0.5, 4)),
    "binom": (RNG.integers(3, 9, N).astype(float), drawn(0.1, 0.9)),
    "geom": (drawn(0.1, 0.9),),
    "nbinom": (drawn(0.5, 9), drawn(0.1, 0.9)),
    "poisson": (drawn(0.5, 9),),
}
NUMBERS = np.array([0, 1, 2, 3, 1, 0, 2, -1, 2.5, 9, 1, 0], float)


def functions(name):
    return importlib.import_module(f"rabbet.scipy.stats.{name}").__all__


CASES = [(name, function) for name in (*CONTINUOUS, *DISCRETE) for function in functions(name)]


def wide(*args):
    return [rnp.array(x, dtype="float64") for x in args]


def arguments(name, function):
    """Without ``loc`` and ``scale``, and those."""
    if name in DISCRETE:
        located = function not in ("ppf",) and (name, function) != ("bernoulli", "cdf")
        placed = (np.full(N, 2.0),) if located else ()
        first = (
            (np.linspace(-0.1, 1.1, N),) if function == "ppf" else () if function == "entropy" else (NUMBERS,)
        )
        if first and placed:
            first = (first[0] + placed[0],)
        return first, DISCRETE[name], placed
    inside, shapes, outside = CONTINUOUS[name]
    x = np.r_[inside[: N - 2], outside]
    placed = () if name in UNSCALED else (drawn(-2, 2), drawn(0.5, 3))
    if function in ("ppf", "isf"):
        x = np.r_[np.linspace(0, 1, N - 2), -0.1, 1.1]
    elif placed:
        x = x * placed[1] + placed[0]
    return (x,), shapes, placed


@pytest.mark.parametrize(("name", "function"), CASES)
def test_values(name, function):
    """Inside the support, outside of it, and with parameters that no distribution has."""
    first, shapes, placed = arguments(name, function)
    args = [*first, *shapes, *placed]
    if name not in UNSCALED and name in CONTINUOUS:
        args[-1] = np.r_[args[-1][:-3], -1.0, args[-1][-2:]]
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        wanted = getattr(getattr(scipy.stats, name), function)(*args)
    if name in ("gamma", "chi2") and function in ("pdf", "logpdf"):  # SciPy's is NaN at infinity
        wanted = np.where(args[0] == np.inf, {"pdf": 0.0, "logpdf": -np.inf}[function], wanted)
    mine = getattr(getattr(stats, name), function)(*wide(*args))
    assert mine.dtype == "float64"
    np.testing.assert_allclose(np.asarray(mine), wanted, rtol=2e-11, atol=1e-300)


# The density's logarithm by all real parameters; the others follow from it and from the special functions.
@pytest.mark.needs("jit")
@pytest.mark.parametrize("name", [*CONTINUOUS, *DISCRETE])
def test_derivatives(name):
    function = "logpmf" if name in DISCRETE else "logpdf"
    first, shapes, placed = arguments(name, function)
    if name in CONTINUOUS:
        first = (CONTINUOUS[name][0] * (placed[1] if placed else 1) + (placed[0] if placed else 0),)
    elif name == "geom":
        first = (np.maximum(NUMBERS, 1) // 1 + 2,)
    else:
        first = (np.clip(NUMBERS // 1, 0, 1 if name == "bernoulli" else 3) + 2,)
    args = [*first, *shapes, *placed]
    whole = {0} if name in DISCRETE else set()
    whole |= {1} if name in ("binom", "betabinom") else set()
    by = [i for i in range(len(args)) if i not in whole and not (name in DISCRETE and i == len(args) - 1)]

    def theirs(*args):
        return getattr(getattr(scipy.stats, name), function)(*args)

    ours = getattr(getattr(stats, name), function)
    slopes = rb.jit(rb.grad(lambda *a: ours(*a).sum(), argnums=tuple(by)))(*wide(*args))
    for i, slope in zip(by, slopes, strict=True):
        h = 1e-4

        def at(k, i=i, h=h):
            return theirs(*args[:i], args[i] + k * h, *args[i + 1 :])

        wanted = (8 * (at(1) - at(-1)) - (at(2) - at(-2))) / (12 * h)
        np.testing.assert_allclose(np.asarray(slope), wanted, rtol=1e-6, atol=1e-7, err_msg=f"argument {i}")


@pytest.mark.forbidden("debug_nans", "debug_infs")
def test_derivatives_are_numbers_outside_the_support():
    for name in ("beta", "gamma", "expon", "pareto", "uniform"):
        shapes = [2.0] * len(CONTINUOUS[name][1])
        for function in ("logpdf", "cdf"):
            slope = rb.grad(getattr(getattr(stats, name), function))(-3.0, *shapes)
            assert float(slope) == 0.0


def test_the_tails_keep_their_digits():
    """Where a difference of probabilities, or the logarithm of one that underflows, has none left."""
    for name, function, args in (
        ("norm", "logcdf", (-1e5,)), ("norm", "sf", (20.0,)), ("logistic", "sf", (300.0,)),
        ("cauchy", "cdf", (-1e10,)), ("gumbel_r", "logsf", (30.0,)), ("expon", "logcdf", (1e-20,)),
        ("truncnorm", "logpdf", (11.0, 10.0, 12.0)), ("truncnorm", "logsf", (-9.0, -10.0, 30.0)),
        ("t", "logpdf", (1.0, 1e12)), ("beta", "sf", (1 - 1e-12, 2.0, 3.0)),
    ):  # fmt: skip
        wanted = getattr(getattr(scipy.stats, name), function)(*args)
        mine = getattr(getattr(stats, name), function)(*wide(*args))
        np.testing.assert_allclose(float(mine), wanted, rtol=1e-9, err_msg=f"{name}.{function}")
    assert float(stats.gumbel_r.logsf(900.0)) == -900.0  # SciPy has -inf


@pytest.mark.needs("bfloat16")
def test_half_types_are_computed_in_single_precision():
    x = rnp.array([0.5, 1.5, 3.0], dtype="bfloat16")
    for mine, wide_one in (
        (stats.gamma.logpdf(x, 2.5), stats.gamma.logpdf(x.astype("float32"), 2.5)),
        (stats.norm.cdf(x, loc=1, scale=2.0), stats.norm.cdf(x.astype("float32"), 1, 2.0)),
    ):
        assert mine.dtype == "bfloat16"
        assert mine.tolist() == wide_one.astype("bfloat16").tolist()


def test_dirichlet():
    x, alpha = RNG.dirichlet([1.0, 2.0, 3.0], 5).T, np.array([0.7, 1.5, 2.5])
    wanted = [scipy.stats.dirichlet.logpdf(column, alpha) for column in x.T]
    np.testing.assert_allclose(np.asarray(stats.dirichlet.logpdf(*wide(x, alpha))), wanted, rtol=1e-11)
    np.testing.assert_allclose(
        np.asarray(stats.dirichlet.pdf(*wide(x[:2], alpha))), np.exp(wanted), rtol=1e-11
    )
    assert stats.dirichlet.logpdf(rnp.array([0.5, 0.6, 0.1]), rnp.array(alpha)) == -INF
    with pytest.raises(ValueError, match="the first dimension of x the size K or K - 1"):
        stats.dirichlet.logpdf(rnp.ones(5), rnp.ones(3))


def test_multinomial():
    p, x = np.array([0.2, 0.3, 0.5]), np.array([[1, 2, 3], [0, 0, 6], [2, 2, 1], [6, 0, 0]])
    wanted = scipy.stats.multinomial.logpmf(x, 6, p)
    np.testing.assert_allclose(np.asarray(stats.multinomial.logpmf(*wide(x, 6, p))), wanted, rtol=1e-12)
    np.testing.assert_allclose(np.asarray(stats.multinomial.pmf(*wide(x, 6, p))), np.exp(wanted), rtol=1e-12)


def test_multivariate_normal():
    a = RNG.normal(size=(3, 3))
    cov, mean, x = a @ a.T + np.eye(3), RNG.normal(size=3), RNG.normal(size=(4, 3))
    wanted = scipy.stats.multivariate_normal.logpdf(x, mean, cov)
    np.testing.assert_allclose(
        np.asarray(stats.multivariate_normal.logpdf(*wide(x, mean, cov))), wanted, rtol=1e-12
    )
    many = stats.multivariate_normal.logpdf(*wide(x, mean, np.stack([cov] * 4)))
    np.testing.assert_allclose(np.asarray(many), wanted, rtol=1e-12)
    wanted = scipy.stats.multivariate_normal.pdf(x[:, 0], 0.5, 2.0)
    np.testing.assert_allclose(
        [float(stats.multivariate_normal.pdf(*wide(v, 0.5, 2.0))) for v in x[:, 0]], wanted, rtol=1e-12
    )
    slope = rb.grad(lambda c: stats.multivariate_normal.logpdf(*wide(x[0], mean), c))(*wide(cov))
    inverse, off = np.linalg.inv(cov), x[0] - mean
    wanted = 0.5 * (np.outer(inverse @ off, inverse @ off) - inverse)
    np.testing.assert_allclose(np.asarray(slope + slope.T) / 2, wanted, rtol=1e-10)
    with pytest.raises(ValueError, match="square matrices of a size n"):
        stats.multivariate_normal.logpdf(rnp.ones(3), 0.0, rnp.eye(2))
    with pytest.raises(NotImplementedError, match="singular"):
        stats.multivariate_normal.logpdf(rnp.ones(3), 0.0, rnp.eye(3), allow_singular=True)


@pytest.mark.needs("jit")
@pytest.mark.parametrize("dimensions", [1, 2])
@pytest.mark.parametrize("method", [None, "silverman", 0.7])
def test_estimated_densities(dimensions, method):
    data, points = RNG.normal(size=(dimensions, 15)), RNG.normal(size=(dimensions, 6))
    weights = RNG.uniform(0.5, 2, 15)
    theirs = scipy.stats.gaussian_kde(data, method, weights)
    ours = stats.gaussian_kde(rnp.array(data, dtype="float64"), method, rnp.array(weights, dtype="float64"))
    close = {"rtol": 1e-10}
    np.testing.assert_allclose(np.asarray(ours.covariance), theirs.covariance, **close)
    np.testing.assert_allclose(np.asarray(ours.inv_cov), theirs.inv_cov, **close)
    np.testing.assert_allclose(float(ours.neff), theirs.neff, **close)
    (at,) = wide(points)
    np.testing.assert_allclose(np.asarray(ours(at)), theirs(points), **close)
    np.testing.assert_allclose(
        np.asarray(rb.jit(lambda k, x: k.logpdf(x))(ours, at)), theirs.logpdf(points), **close
    )
    np.testing.assert_allclose(float(ours.integrate_kde(ours)), theirs.integrate_kde(theirs), **close)
    mean, cov = np.ones(dimensions), np.eye(dimensions)
    mine = ours.integrate_gaussian(*wide(mean, cov))
    np.testing.assert_allclose(float(mine), theirs.integrate_gaussian(mean, cov), **close)
    if dimensions == 1:
        mine = ours.integrate_box_1d(-0.5, 1.5)
        np.testing.assert_allclose(float(mine), theirs.integrate_box_1d(-0.5, 1.5), **close)


def test_draws_from_an_estimated_density():
    kde = stats.gaussian_kde(rnp.array(RNG.normal(size=(2, 50)).astype("f4")))
    draws = np.asarray(kde.resample(rabbet.random.key(0), (4000,)))
    assert draws.shape == (2, 4000)
    data = np.asarray(kde.dataset)
    wanted = np.cov(data, bias=True) + np.asarray(kde.covariance)
    np.testing.assert_allclose(draws.mean(1), data.mean(1), atol=0.08)
    np.testing.assert_allclose(np.cov(draws), wanted, atol=0.12)
    for call, error in (
        (lambda: kde.set_bandwidth(1.0), NotImplementedError),
        (lambda: kde.integrate_box([0, 0], [1, 1]), NotImplementedError),
        (lambda: kde.integrate_box_1d(0, 1), ValueError), (lambda: kde(rnp.ones((3, 2))), ValueError),
        (lambda: stats.gaussian_kde(rnp.ones((2, 1))), ValueError),
        (lambda: stats.gaussian_kde(rnp.ones(4), "wide"), ValueError),
    ):  # fmt: skip
        with pytest.raises(error, match="gaussian_kde"):
            call()


def test_modes_and_ranks():
    x = RNG.integers(0, 4, (5, 7))
    for axis in (0, 1, None):
        for keepdims in (False, True):
            wanted = scipy.stats.mode(x, axis=axis, keepdims=keepdims)
            mine = stats.mode(rnp.array(x), axis=axis, keepdims=keepdims)
            assert np.asarray(mine.mode).tolist() == np.asarray(wanted.mode).tolist()
            assert np.asarray(mine.count).tolist() == np.asarray(wanted.count).tolist()
        for method in ("average", "min", "max", "dense", "ordinal"):
            mine = stats.rankdata(rnp.array(x), method, axis=axis)
            assert np.asarray(mine).tolist() == scipy.stats.rankdata(x, method, axis=axis).tolist()
    floats = np.array([2.0, NAN, 1.0, NAN])
    wanted = scipy.stats.mode(floats)
    mine = stats.mode(rnp.array(floats))
    assert (math.isnan(mine.mode), int(mine.count)) == (math.isnan(wanted.mode), int(wanted.count))
    assert np.isnan(np.asarray(stats.rankdata(rnp.array(floats)))).all()


def test_standard_errors():
    x = RNG.normal(size=(4, 5))
    for axis in (0, 1, None):
        mine = stats.sem(*wide(x), axis=axis, ddof=0)
        np.testing.assert_allclose(np.asarray(mine), scipy.stats.sem(x, axis=axis, ddof=0), rtol=1e-12)
    x[1, 2] = NAN
    mine = stats.sem(*wide(x), nan_policy="omit")
    np.testing.assert_allclose(np.asarray(mine), scipy.stats.sem(x, nan_policy="omit"), rtol=1e-12)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: stats.norm.pdf([0.0]), TypeError, r"norm\.pdf takes arrays and numbers, got a list"),
        (lambda: stats.gamma.cdf(1j, 2.0), TypeError, r"gamma\.cdf takes real numbers"),
        (lambda: stats.mode(rnp.ones(3), nan_policy="omit"), NotImplementedError, "take the NaNs out before"),
        (lambda: stats.mode(rnp.ones(3), nan_policy="x"), ValueError, "nan_policy must be"),
        (lambda: stats.mode(rnp.ones(3), axis=1), ValueError, "axis 1 is out of range"),
        (lambda: stats.rankdata(rnp.ones(3), "best"), ValueError, "method must be one of average"),
        (lambda: stats.skewnorm, AttributeError, "has no attribute 'skewnorm'; it has the distributions"),
        (lambda: rb.scipy.odr, AttributeError, "its modules are"),
    ],
)  # fmt: skip
def test_errors_say_what_to_do(call, error, words):
    with pytest.raises(error, match=words):
        call()


@pytest.mark.narrow
def test_ranks_and_counts_have_the_dtypes_of_python_numbers():
    x = np.float32([1, 2, 2])
    assert (stats.rankdata(x).dtype, stats.mode(x).count.dtype) == ("float32", "int32")
    with rb.config.override(enable_x64=True):
        assert (stats.rankdata(x).dtype, stats.mode(x).count.dtype) == ("float64", "int64")


DISCRETE_ENDS = {
    "poisson": [(0.0,), (2.0,)], "bernoulli": [(0.0,), (1.0,)], "binom": [(5.0, 0.0), (5.0, 1.0), (0.0, 0.5)],
    "nbinom": [(3.0, 1.0)], "geom": [(1.0,)],
}  # fmt: skip


@pytest.mark.parametrize("name", DISCRETE_ENDS)
def test_probabilities_at_the_ends(name):
    k = np.float32([-INF, -1, 0, 0.5, 1, 5, INF, NAN])
    functions = [f for f in ("logpmf", "pmf", "cdf") if hasattr(getattr(stats, name), f)]
    for shapes in DISCRETE_ENDS[name]:
        for function in functions:
            got = getattr(getattr(stats, name), function)(k, *map(np.float32, shapes))
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                wanted = getattr(getattr(scipy.stats, name), function)(k.astype(float), *shapes)
            # Infinitely many have no probability; SciPy subtracts infinities there.
            wanted = np.where((k == INF) & np.isnan(wanted), -INF if function == "logpmf" else 0, wanted)
            np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=1e-6, err_msg=f"{function}{shapes}")


def test_densities_far_away_are_zero():
    for name in ("gumbel_l", "gumbel_r", "norm", "cauchy", "laplace", "logistic"):
        np.testing.assert_array_equal(getattr(stats, name).pdf(np.float32([-INF, INF])), [0, 0])


def test_the_logarithm_of_beta_at_its_poles():
    from rabbet.scipy import special

    at = np.float32([[-1, -1], [0, 0], [0, -1], [-1, 2], [-3, 4], [-1, 0.5], [-3, 2], [-1.5, -0.5]])
    for a, b in at:
        wanted = scipy.special.betaln(float(a), float(b))
        np.testing.assert_allclose(special.betaln(a, b), wanted, rtol=1e-5, err_msg=f"{a}, {b}")
