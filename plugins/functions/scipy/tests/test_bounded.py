"""Minimization between bounds: SciPy's minima, and their derivatives."""

import numpy as np
import pytest
import rabbet as rb
import rabbet.numpy as rnp
from rabbet.scipy.optimize import minimize

scipy_optimize = pytest.importorskip("scipy.optimize")
pytestmark = pytest.mark.needs("grad", "jit", "vmap")

RANDOM = np.random.default_rng(0)
SQUARE = RANDOM.normal(size=(12, 12))
SQUARE = SQUARE @ SQUARE.T + 0.1 * np.eye(12)
LINE = RANDOM.normal(size=12)
TALL, SIDE = RANDOM.normal(size=(30, 8)), RANDOM.normal(size=30)


def rosenbrock(x):
    return (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()


def beale(x):
    return sum((c - x[0] + x[0] * x[1] ** (i + 1)) ** 2 for i, c in enumerate((1.5, 2.25, 2.625)))


PROBLEMS = {
    "no bound counts": (rosenbrock, np.full(6, -1.2), [(-2, 2)] * 6),
    "a curved valley": (rosenbrock, np.full(6, 3.0), [(1.5, 5)] * 3 + [(-1, 0.5)] * 3),
    "quadratic": (lambda x: 0.5 * x @ SQUARE @ x - LINE @ x, np.zeros(12), [(-0.1, 0.1)] * 12),
    "least squares from 0 on": (lambda x: ((TALL @ x - SIDE) ** 2).sum(), np.ones(8), [(0, None)] * 8),
    "a corner": (lambda x: 2 - rnp.prod(x) / 120, np.full(5, 2.0), [(0, i + 1) for i in range(5)]),
    "beale": (beale, np.ones(2), [(-4.5, 2.5), (-4.5, 4.5)]),
    "some fixed": (rosenbrock, np.full(4, -1.2), [(0.3, 0.3), (None, None), (None, 2), (0, None)]),
}


@pytest.mark.parametrize("name", PROBLEMS)
def test_the_minimum_is_that_of_scipy(name):
    fun, start, bounds = PROBLEMS[name]
    with rb.config.override(enable_x64=True):
        found = minimize(fun, rnp.asarray(start), method="L-BFGS-B", bounds=bounds)
        slope = rb.jit(rb.value_and_grad(fun))
        wanted = scipy_optimize.minimize(
            lambda x: [np.asarray(v) for v in slope(rnp.asarray(x))], start, jac=True, method="L-BFGS-B",
            bounds=bounds, options={"gtol": 1e-8, "ftol": 1e-15},
        )  # fmt: skip
    assert bool(found.success)
    np.testing.assert_allclose(found.fun, wanted.fun, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(found.x, wanted.x, atol=3e-5)
    lower, upper = np.array([[-np.inf if a is None else a, np.inf if b is None else b] for a, b in bounds]).T
    assert ((lower <= np.asarray(found.x)) & (np.asarray(found.x) <= upper)).all()


def test_the_function_is_computed_between_the_bounds_alone():
    """It is NaN outside of them, in single precision; a start outside is brought between them."""
    value = lambda x: rnp.sum(x * rnp.log(x) + rnp.sqrt(2 - x))
    fun = lambda x: rnp.where(rnp.all((x >= 0.5) & (x <= 1.75)), value(x), rnp.nan)
    wanted = scipy_optimize.brentq(lambda x: np.log(x) + 1 - 0.5 / np.sqrt(2 - x), 0.5, 0.6)
    for start in (rnp.array([1.0, 0.5, 2.0]), rnp.array([-1.0, 7.0, 0.0])):
        found = minimize(fun, start, method="L-BFGS-B", bounds=[(0.5, 1.75)] * 3)
        assert bool(found.success)
        np.testing.assert_allclose(found.x, wanted, atol=1e-4)


def test_ways_to_give_bounds_and_what_is_refused():
    fun = lambda x: rnp.sum((x - 3) ** 2)
    start = rnp.zeros(2)
    pairs = np.array([[0.0, 1.0], [-7.0, np.inf]])
    for bounds in (pairs, pairs.tolist(), scipy_optimize.Bounds(pairs[:, 0], pairs[:, 1])):
        found = minimize(fun, start, method="l-bfgs", bounds=bounds)
        np.testing.assert_allclose(found.x, [1, 3], rtol=1e-5)
    traced = rb.jit(lambda b: minimize(fun, start, method="L-BFGS-B", bounds=b).x)(pairs)
    np.testing.assert_allclose(traced, [1, 3], rtol=1e-5)
    several = rb.vmap(lambda b: minimize(fun, start, method="L-BFGS-B", bounds=b).x)
    np.testing.assert_allclose(several(np.stack([pairs, 5 * pairs])), [[1, 3], [3, 3]], rtol=1e-5)
    of_pairs = r"must be 2 pairs \(lower, upper\)"
    for words, call in [
        ("bounds need method='L-BFGS-B', got 'BFGS'", {"method": "BFGS", "bounds": pairs}),
        (of_pairs, {"bounds": [(0, 1)]}),
        (of_pairs, {"bounds": [0, 1]}),
        (of_pairs, {"bounds": 1}),
        (r"lb and ub must be .* shape \(2,\), got \(3,\)", {"bounds": scipy_optimize.Bounds(np.zeros(3), 1)}),
        (r"must have the shape \(2, 2\)", {"bounds": pairs[:1]}),
        ("the lower bound of unknown 1 is above", {"bounds": [(0, 1), (2, 1)]}),
    ]:
        with pytest.raises(ValueError, match=words):
            minimize(fun, start, **{"method": "L-BFGS-B", **call})


@pytest.mark.forbidden("debug_nans", "debug_infs")
def test_derivatives_by_arguments_and_bounds():
    """An unknown at a bound moves with it, and the others follow both."""

    def best(c, top):
        fun = lambda x: 0.5 * x @ SQUARE[:4, :4] @ x - c @ x
        bounds = rnp.stack([rnp.full(4, -rnp.inf), rnp.asarray([rnp.inf, top, rnp.inf, rnp.inf])], 1)
        how = {"method": "L-BFGS-B", "tol": 1e-10, "options": {"ftol": 0.0}}
        return minimize(fun, rnp.zeros(4), bounds=bounds, **how).x

    with rb.config.override(enable_x64=True):
        c, top = rnp.asarray(LINE[:4]), -1.5
        assert float(best(c, 10.0)[1]) > top
        forward, reverse = (mode(best, (0, 1))(c, top) for mode in (rb.jacfwd, rb.jacrev))
        step = 1e-4
        wanted = [
            np.stack([(best(c + e, top) - best(c - e, top)) / (2 * step) for e in step * np.eye(4)], 1),
            (best(c, top + step) - best(c, top - step)) / (2 * step),
        ]
    for found in (forward, reverse):
        for got, want in zip(found, wanted, strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)
    assert float(forward[1][1]) == 1.0
    assert not np.any(forward[0][1])
