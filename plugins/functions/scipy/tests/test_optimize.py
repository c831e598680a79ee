"""Minimization: the minima of known functions, derivatives of minima, states and messages."""

import numpy as np
import pytest
import rabbet as rb
import rabbet.numpy as rnp
import scipy.optimize
from oracles import check_gradient, ours
from rabbet.scipy.optimize import OptimizeResults, minimize

random = np.random.default_rng(7)


def rosenbrock(x):
    return (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()


def himmelblau(x):
    return (x[0] ** 2 + x[1] - 11) ** 2 + (x[0] + x[1] ** 2 - 7) ** 2


def flat(x):
    return ((x - 3) ** 4).sum()


@pytest.mark.parametrize("method", ["BFGS", "L-BFGS"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_minima(method, dtype):
    # Neighbours in single precision lie 6e-8 apart near 1, and the largest curvature of Rosenbrock's
    # function there is over 1,000: between two of them the gradient changes by over 6e-5, so that 1e-5 is
    # met by luck of the rounding, and on some processors never.
    for function, n, bound in ((rosenbrock, 4, 1e-4), (himmelblau, 2, 1e-5), (flat, 2, 0.05)):
        tol = 2e-4 if dtype == "float32" and function is rosenbrock else 1e-5
        out = rb.jit(lambda x, f=function, t=tol: minimize(f, x, method=method, tol=t))(rnp.zeros(n, dtype))
        wanted = scipy.optimize.minimize(
            lambda x, f=function: float(f(x)), np.zeros(n), method="BFGS", options={"gtol": 1e-7}
        )
        assert isinstance(out, OptimizeResults)
        assert out.x.dtype == dtype
        assert bool(out.success)
        assert int(out.status) == 0
        np.testing.assert_allclose(out.x, wanted.x, atol=bound)
        assert float(rnp.abs(out.jac).max()) <= tol or method == "L-BFGS"
        # About as much work as SciPy's.
        assert int(out.nit) <= 1.5 * wanted.nit + 5
        assert (out.hess_inv is None) == (method == "L-BFGS")


@pytest.mark.parametrize("compiled", [False, True])
def test_bfgs_stops_where_no_step_goes_down(compiled):
    """A gradient is never below a ``tol`` of -1; in the end x + step is x, or next to it."""
    away = lambda x: (10.0 ** rnp.arange(4, dtype=x.dtype) * (x - 1.1) ** 2 + rnp.abs(x - 1.1)).sum()
    for function, n, least in ((rosenbrock, 4, 1e-9), (rosenbrock, 10, 1e-9), (away, 4, 1e-3)):
        start = rnp.zeros(n, "float32")
        find = lambda x, f=function: minimize(f, x, method="BFGS", tol=-1.0)
        out = (rb.jit(find) if compiled else find)(start)
        assert (int(out.status), bool(out.success)) == (3, False)
        assert int(out.nit) < 100
        assert int(out.nfev) < 400
        assert float(out.fun) < least
    # Values that are level: 1e6 takes all digits.
    level = lambda x: (rnp.array([1e3, 1.0, 1e-3, 1e2]) * (x - 1.1) ** 2).sum() + 1e6
    out = minimize(level, rnp.zeros(4), method="BFGS", tol=-1.0)
    assert int(out.status) == 3
    assert int(out.nit) < 100


@pytest.mark.parametrize("bounds", [None, [(-1, None)] * 2])
def test_lbfgs_stops_there_too_when_no_change_is_small_enough(bounds):
    function = lambda x: ((x - 1.1) ** 2 * rnp.array([1e3, 1.0])).sum() + rnp.abs(x - 1.1).sum()
    how = {"ftol": -1.0, "gtol": -1.0}
    out = minimize(function, rnp.zeros(2), method="L-BFGS-B", bounds=bounds, options=how)
    assert not out.success
    assert int(out.status) in (3, 5)
    assert int(out.nit) < 100


@pytest.mark.parametrize("method", ["BFGS", "L-BFGS"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_minima_where_64_bits_are_on(method, dtype):
    with rb.config.override(enable_x64=True):
        out = minimize(himmelblau, rnp.zeros(2, dtype), method=method)
        assert out.x.dtype == dtype
        assert bool(out.success)
        np.testing.assert_allclose(out.x, [3, 2], atol=1e-3)
        assert {x.dtype for x in (out.nit, out.nfev, out.njev, out.status)} == {np.dtype("int64")}


@pytest.mark.forbidden("debug_nans", "debug_infs")
def test_the_inverse_hessian_and_few_steps():
    h = np.diag([1.0, 4.0, 9.0])
    out = minimize(lambda x: 0.5 * x @ ours(h) @ x - x.sum(), ours(np.zeros(3)), method="bfgs", tol=1e-9)
    np.testing.assert_allclose(out.hess_inv, np.linalg.inv(h), atol=0.05)
    stopped = minimize(rosenbrock, rnp.zeros(4), method="BFGS", options={"maxiter": 3})
    assert (int(stopped.status), bool(stopped.success), int(stopped.nit)) == (1, False, 3)
    there = minimize(flat, rnp.full(2, 3.0), method="L-BFGS")
    assert (int(there.nit), int(there.nfev), bool(there.success)) == (0, 1, True)
    uphill = minimize(lambda x: -(x**2).sum() / 0.0 + rnp.nan, rnp.ones(2), method="BFGS")
    assert not uphill.success


@pytest.mark.parametrize("method", ["BFGS", "L-BFGS"])
def test_a_function_of_a_wider_dtype_than_its_start(method):
    with pytest.raises(TypeError, match=r"x0 has the dtype float32, and fun computes in float64\n  to fix"):
        minimize(lambda x: ((x - ours(np.ones(2))) ** 2).sum(), rnp.zeros(2, "float32"), method=method)


def solution(b, a):
    """The minimum of a convex function, and its value."""
    out = minimize(
        lambda x, b: 0.5 * x @ a @ a.T @ x - b @ x + (x**4).sum(),
        ours(np.zeros(3)),
        (b,),
        method="BFGS",
        tol=1e-10,
    )
    return out.x, out.fun


def test_derivatives_are_those_of_the_minimum():
    a, b = random.normal(size=(3, 3)), random.normal(size=3)
    check_gradient(solution, b, a, rtol=1e-5)
    many = np.stack([b, 2 * b])
    found = rb.vmap(lambda b: solution(b, ours(a))[0])(ours(many))
    np.testing.assert_allclose(found[1], solution(ours(many[1]), ours(a))[0], atol=1e-7)
    jacobian = rb.jacrev(lambda c: minimize(lambda x: ((x - c) ** 2).sum(), 0.0 * c, method="L-BFGS").x)(
        ours(b)
    )
    np.testing.assert_allclose(jacobian, np.eye(3), atol=1e-9)
    wide = ours(np.arange(250.0))  # by conjugate gradients
    slope = rb.grad(lambda c: minimize(lambda x: ((x - c) ** 2).sum(), 0.0 * c, method="L-BFGS").x.sum())(
        wide
    )
    np.testing.assert_allclose(slope, 1.0, rtol=1e-6)


def test_messages():
    x = rnp.zeros(2)
    for wrong, error, words in (
        (lambda: minimize(flat, x, method="x"), ValueError, "method must be"),
        (lambda: minimize(flat, x, 3.0, method="BFGS"), TypeError, "args must be a tuple"),
        (lambda: minimize(flat, rnp.zeros(2, int), method="BFGS"), TypeError, "x0 must be floating"),
        (lambda: minimize(flat, rnp.zeros((2, 2)), method="BFGS"), ValueError, "x0 must be a vector"),
        (lambda: minimize(lambda x: x, x, method="BFGS"), ValueError, "must return a number"),
        (lambda: minimize(flat, x, method="BFGS", options={"foo": 1}), TypeError, "foo"),
    ):
        with pytest.raises(error, match=words):
            wrong()


@pytest.mark.parametrize("wrap", [lambda x: [x], lambda x: (x, {}), lambda x: {"loss": x}])
def test_minimize_wants_a_number(wrap):
    with pytest.raises(TypeError, match="minimize: fun must return a number, it returned a "):
        rb.scipy.optimize.minimize(lambda x: wrap(x.sum()), np.ones(2, np.float32), method="BFGS")
