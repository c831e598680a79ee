"""Gamma numbers and their relatives, counts, vectors: distributions, derivatives, corners."""

import numpy as np
import pytest
import rabbet as rb
from rabbet import random

pytestmark = pytest.mark.library

stats = pytest.importorskip("scipy.stats")
special = pytest.importorskip("scipy.special")

KEY = random.key(20260802)
MANY = (20_000,)


def drawn(function, *args, **kwargs):
    return np.asarray(function(KEY, *args, **kwargs))


CONTINUOUS = {
    "gamma": (lambda: drawn(random.gamma, 2.5, MANY), stats.gamma(2.5)),
    "gamma, small": (lambda: drawn(random.gamma, 0.3, MANY), stats.gamma(0.3)),
    "loggamma": (lambda: np.exp(drawn(random.loggamma, 0.8, MANY)), stats.gamma(0.8)),
    "beta": (lambda: drawn(random.beta, 0.5, 2.0, MANY), stats.beta(0.5, 2)),
    "dirichlet": (lambda: drawn(random.dirichlet, np.float32([1, 2, 3]), MANY)[:, 1], stats.beta(2, 4)),
    "chisquare": (lambda: drawn(random.chisquare, 3.0, MANY), stats.chi2(3)),
    "f": (lambda: drawn(random.f, 3.0, 7.0, MANY), stats.f(3, 7)),
    "t": (lambda: drawn(random.t, 4.0, MANY), stats.t(4)),
    "wald": (lambda: drawn(random.wald, 2.0, MANY), stats.invgauss(2)),
    "generalized_normal": (lambda: drawn(random.generalized_normal, 3.0, MANY), stats.gennorm(3)),
    "ball": (lambda: (drawn(random.ball, 3, 1.5, MANY).__abs__() ** 1.5).sum(1) ** 2, stats.uniform()),
    "double_sided_maxwell": (
        lambda: np.abs(drawn(random.double_sided_maxwell, 1.0, 2.0, MANY) - 1),
        stats.maxwell(scale=2),
    ),
    "multivariate_normal": (
        lambda: (
            drawn(random.multivariate_normal, np.float32([1, 2]), np.float32([[2, 0.5], [0.5, 1]]), MANY)
            @ [1, -1]
        ),
        stats.norm(-1, np.sqrt(2)),
    ),
    "orthogonal": (lambda: (drawn(random.orthogonal, 3, MANY)[:, 2, 1] + 1) / 2, stats.uniform()),
}


@pytest.mark.parametrize("name", CONTINUOUS)
def test_distribution(name):
    draw, wanted = CONTINUOUS[name]
    assert stats.kstest(draw().astype(np.float64), wanted.cdf).pvalue > 1e-3


COUNTED = {
    "poisson, few": (lambda: drawn(random.poisson, 3.0, MANY), stats.poisson(3)),
    "poisson, many": (lambda: drawn(random.poisson, 15.0, MANY), stats.poisson(15)),
    "binomial, few": (lambda: drawn(random.binomial, 12, 0.7, MANY), stats.binom(12, 0.7)),
    "binomial, many": (lambda: drawn(random.binomial, 40, 0.4, MANY), stats.binom(40, 0.4)),
    "multinomial": (
        lambda: drawn(random.multinomial, 30, np.float32([0.2, 0.3, 0.5]), shape=MANY)[:, 1],
        stats.binom(30, 0.3),
    ),
}


@pytest.mark.parametrize("name", COUNTED)
def test_counts(name):
    draw, wanted = COUNTED[name]
    counts = np.bincount(draw().astype(int))
    expected = wanted.pmf(np.arange(len(counts))) * MANY[0]
    enough = expected > 10
    pairs = [np.append(x[enough], MANY[0] - x[enough].sum()) for x in (counts, expected)]
    assert stats.chisquare(*pairs, sum_check=False).pvalue > 1e-3


# ---------------------------------------------------------------------------------------------- derivatives
@pytest.mark.forbidden("explicit_x64_dtypes")
@pytest.mark.needs("grad")
def test_implicit_derivatives():
    """A sample moves as its quantile does: compared with differences of SciPy's inverse in float64."""
    a = np.float64([1e-3, 0.05, 0.3, 0.999, 1.0, 2.5, 40.0])
    x, slope = rb.jvp(lambda a: random.gamma(KEY, a, dtype="float64"), (a,), (np.ones_like(a),))
    logs, log_slope = rb.jvp(lambda a: random.loggamma(KEY, a, dtype="float64"), (a,), (np.ones_like(a),))
    x, slope, logs, log_slope = (np.asarray(v) for v in (x, slope, logs, log_slope))
    level, step = special.gammainc(a, x), 1e-5 * a
    wanted = (special.gammaincinv(a + step, level) - special.gammaincinv(a - step, level)) / (2 * step)
    moderate = x > 1e-30
    np.testing.assert_allclose(slope[moderate], wanted[moderate], rtol=1e-5)
    np.testing.assert_allclose(log_slope[moderate], slope[moderate] / x[moderate], rtol=1e-9)
    # Where x is too small: log x = (log level + log gamma(a + 1)) / a.
    level = a * logs - special.gammaln(a + 1)
    wanted = (special.digamma(a + 1) - (level + special.gammaln(a + 1)) / a) / a
    np.testing.assert_allclose(log_slope[0], wanted[0], rtol=1e-6)


@pytest.mark.needs("grad")
def test_derivatives_in_expectation():
    """The mean of a gamma is its shape, that of a beta a / (a + b): so are the means of their derivatives."""
    slope = rb.grad(lambda a: random.gamma(KEY, a, MANY).mean())(1.7)
    assert abs(float(slope) - 1) < 0.03
    by_a, by_b = rb.grad(lambda a, b: random.beta(KEY, a, b, MANY).mean(), (0, 1))(2.0, 3.0)
    assert abs(float(by_a) - 3 / 25) < 0.005 and abs(float(by_b) + 2 / 25) < 0.005
    concentration = np.float32([1, 2, 3])
    jacobian = rb.jacobian(lambda a: random.dirichlet(KEY, a, MANY).mean(0))(concentration)
    wanted = np.eye(3) / 6 - concentration[:, None] / 36
    np.testing.assert_allclose(jacobian, wanted, atol=0.01)


# ------------------------------------------------------------------------------------------ transformations
DRAWS = {
    "gamma": lambda k: random.gamma(k, np.float32([0.5, 3])),
    "poisson": lambda k: random.poisson(k, np.float32([2, 40])),
    "binomial": lambda k: random.binomial(k, 30, np.float32([0.1, 0.6])),
    "multinomial": lambda k: random.multinomial(k, 9, np.float32([0.2, 0.8])),
    "orthogonal": lambda k: random.orthogonal(k, 2),
}


@pytest.mark.needs("vmap", "jit")
@pytest.mark.parametrize("name", DRAWS)
def test_mapped_and_compiled(name):
    keys = random.split(KEY, 3)
    mapped = rb.jit(rb.vmap(DRAWS[name]))(keys)
    one_by_one = np.stack([np.asarray(DRAWS[name](k)) for k in keys])
    np.testing.assert_allclose(mapped, one_by_one, rtol=2e-5, atol=1e-6)


# ------------------------------------------------------------------------------------------------- corners
@pytest.mark.forbidden("debug_nans", "debug_infs")
@pytest.mark.narrow
def test_edges():
    nan, inf = np.nan, np.inf
    np.testing.assert_array_equal(drawn(random.gamma, np.float32([0, -1, nan, inf])), [0, nan, nan, inf])
    assert drawn(random.loggamma, np.float32([0]))[0] == -inf
    assert np.isfinite(drawn(random.loggamma, np.float32([1e-30]))).all()
    assert drawn(random.poisson, np.float32([nan, -1, 0, inf])).tolist() == [-1, -1, 0, 2**31 - 1]
    found = drawn(
        random.binomial, np.float32([5, 5, 0, 7, -1, nan, 5]), np.float32([0, 1, 0.5, nan, 0.5, 0.5, 2])
    )
    np.testing.assert_array_equal(found, [0, 5, 0, nan, nan, nan, nan])
    counts = drawn(random.multinomial, np.float32([[7], [0]]), np.float32([0.5, 0, 0.5]))
    assert counts.shape == (2, 1, 3) and (counts.sum(-1) == [[7], [0]]).all()
    assert drawn(random.gamma, 2.0, (0, 3)).shape == (0, 3)
    assert drawn(random.ball, 0, shape=(2,)).shape == (2, 0)
    assert drawn(random.poisson, 3.0, (4,), "uint8").dtype == np.uint8
    for n, m in ((4, 2), (2, 4), (3, 3)):
        q = drawn(random.orthogonal, n, (5,), "complex64", m)
        product = q @ q.conj().swapaxes(1, 2) if n <= m else q.conj().swapaxes(1, 2) @ q
        np.testing.assert_allclose(product, np.broadcast_to(np.eye(min(n, m)), product.shape), atol=1e-5)


MESSAGES = [
    (lambda: random.gamma(KEY, 1.0, dtype="int32"), ValueError, "gamma: dtype must be float"),
    (lambda: random.gamma(KEY, 1.0, method="quick"), ValueError, "'exact' or 'approximate', got 'quick'"),
    (
        lambda: random.beta(KEY, np.ones(3, "f4"), 1.0, (2,)),
        ValueError,
        "a of the shape .* does not broadcast",
    ),
    (lambda: random.dirichlet(KEY, 1.0), ValueError, "alpha needs a dimension"),
    (lambda: random.poisson(KEY, 1.0, dtype=float), TypeError, "poisson: dtype must be signed integer"),
    (lambda: random.multinomial(KEY, 3, 0.5), ValueError, "p needs a dimension"),
    (
        lambda: random.multivariate_normal(KEY, np.ones(2, "f4"), np.eye(3, dtype="f4")),
        ValueError,
        r"\(..., n, n\)",
    ),
    (
        lambda: random.multivariate_normal(KEY, np.ones(1), np.eye(1), method="qr"),
        ValueError,
        "cholesky, eigh, svd",
    ),
    (lambda: random.orthogonal(KEY, -1), ValueError, "must not be negative"),
]


@pytest.mark.parametrize("call, error, message", MESSAGES)
def test_messages(call, error, message):
    with pytest.raises(error, match=message):
        call()


@pytest.mark.parametrize("given", ["f4 f4 f4", "i4 i4 f4", "i8 f4 f4", "f8 f4 f8", "f2 f2 f4"])
def test_normal_vectors_have_the_dtype_of_their_parameters(given):
    mean, cov, wanted = given.split()
    with rb.config.override(enable_x64=True):
        drawn = random.multivariate_normal(random.key(0), np.zeros(2, mean), np.eye(2, dtype=cov))
        assert drawn.dtype == wanted


@pytest.mark.narrow
@pytest.mark.forbidden("debug_nans", "debug_infs")
def test_parameters_at_the_edge():
    never = random.geometric(KEY, np.float32([0.0, 0.0, 1e-30]))
    assert never.tolist() == [2**31 - 1] * 3  # beyond the largest number, which was the smallest
    assert random.geometric(KEY, 0.0, dtype="int8").tolist() == 127
    assert random.geometric(KEY, 1.0).tolist() == 1
    found = drawn(random.binomial, 10.5, 0.5, MANY)
    assert (found == np.floor(found)).all() and found.max() <= 10
    assert drawn(random.weibull_min, 1.0, 0, MANY).max() == np.inf  # a Python 0 was a ZeroDivisionError


def test_the_dtype_of_a_result_does_not_change_which_numbers_are_drawn():
    key, p = random.key(3), np.float32([0.2, 0.3, 0.5])
    for draw in (
        lambda dtype: random.binomial(key, 100, p, dtype=dtype),
        lambda dtype: random.multinomial(key, 9, p, dtype=dtype),
    ):
        assert draw("float16").dtype == "float16"
        assert draw("float16").tolist() == draw("float32").tolist() == draw(None).tolist()
        with rb.enable_x64(True):
            assert draw(None).dtype == "float64" and draw(None).tolist() == draw("float32").tolist()
