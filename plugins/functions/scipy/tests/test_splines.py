"""Splines and integrals of samples: values and derivatives against SciPy, and by places and values."""

import numpy as np
import pytest
import rabbet as rb
import scipy.integrate as their_integrals
import scipy.interpolate as theirs
from oracles import check_gradient, close, ours
from rabbet.scipy import integrate, interpolate

RNG = np.random.default_rng(2)
X = np.sort(RNG.uniform(0, 5, 7))
Y = RNG.normal(size=(7, 2))
AT = np.linspace(-1, 6, 12)
GIVEN = ((1, np.array([0.5, 0.1])), (2, np.array([-1.0, 2.0])))


@pytest.mark.parametrize("ends", ["not-a-knot", "natural", "clamped", GIVEN, ("natural", "not-a-knot")])
def test_cubic_splines(ends):
    for n in (2, 3, 7):
        mine = interpolate.CubicSpline(ours(X[:n]), ours(Y[:n]), bc_type=ends)
        other = theirs.CubicSpline(X[:n], Y[:n], bc_type=ends)
        for order in (0, 1, 2):
            close(mine(ours(AT), order), other(AT, order), 1e-9, 1e-9)


def test_periodic_splines():
    y = np.concatenate([Y[:-1], Y[:1]])
    mine, other = (
        m.CubicSpline(a(X), a(y), bc_type="periodic") for m, a in ((interpolate, ours), (theirs, np.asarray))
    )
    close(mine(ours(AT)), other(AT))
    assert mine.extrapolate == "periodic"


@pytest.mark.parametrize("name", ["PchipInterpolator", "Akima1DInterpolator"])
def test_interpolation_that_keeps_the_shape(name):
    for n in (2, 7):
        mine, other = (
            getattr(interpolate, name)(ours(X[:n]), ours(Y[:n])),
            getattr(theirs, name)(X[:n], Y[:n]),
        )
        close(mine(ours(AT)), other(AT))
        close(mine(ours(AT), 1), other(AT, 1))
    level = np.array([0.0, 0.0, 1.0, 1.0, 1.0, 0.5, 2.0])
    close(getattr(interpolate, name)(ours(X), ours(level))(ours(AT)), getattr(theirs, name)(X, level)(AT))


@pytest.mark.forbidden("debug_nans", "debug_infs")
def test_pieces_are_differentiated_and_integrated():
    mine, other = interpolate.CubicSpline(ours(X), ours(Y)), theirs.CubicSpline(X, Y)
    close(mine.integrate(1.0, 3.5), other.integrate(1.0, 3.5))
    close(mine.antiderivative()(ours(AT)), other.antiderivative()(AT))
    close(mine.derivative(2)(ours(AT)), other.derivative(2)(AT))
    inside = interpolate.CubicSpline(ours(X), ours(Y.T), axis=1, extrapolate=False)
    close(inside(ours(AT)), theirs.CubicSpline(X, Y.T, axis=1, extrapolate=False)(AT))


@pytest.mark.parametrize("k", [0, 1, 3, 5])
def test_splines_of_a_degree(k):
    mine, other = interpolate.make_interp_spline(ours(X), ours(Y), k), theirs.make_interp_spline(X, Y, k)
    close(mine.t, other.t)
    at = np.concatenate([AT, X])
    for order in range(min(k, 2) + 1):
        close(mine(ours(at), order), other(at, order), 1e-8, 1e-8)


@pytest.mark.forbidden("debug_nans", "debug_infs")
def test_sums_of_bsplines():
    t, c = np.array([0, 0, 0, 1, 1.5, 3, 3, 3.0]), RNG.normal(size=5)
    for how in (True, False, "periodic"):
        mine, other = interpolate.BSpline(ours(t), ours(c), 2, how), theirs.BSpline(t, c, 2, how)
        close(mine(ours(AT)), other(AT))


@pytest.mark.needs("jit")
def test_derivatives_by_places_values_and_where():
    x, y, at = X[:5], Y[:5, 0], np.array([0.3, 1.1])
    check_gradient(lambda x, y, at: interpolate.CubicSpline(x, y)(at), x, y, at)
    check_gradient(lambda x, y, at: interpolate.PchipInterpolator(x, y)(at), x, y, at)
    check_gradient(lambda x, y, at: interpolate.make_interp_spline(x, y)(at), x, y, at)


@pytest.mark.exhaustive
@pytest.mark.needs("jit")
def test_second_derivatives():
    x, y, at = X[:5], Y[:5, 0], np.array([0.3, 1.1])
    check_gradient(lambda x, y, at: interpolate.CubicSpline(x, y)(at), x, y, at, second=True)


@pytest.mark.needs("jit", "vmap")
def test_splines_are_trees():
    spline = rb.jit(lambda y: interpolate.CubicSpline(ours(X), y))(ours(Y))
    close(rb.vmap(lambda at: spline(at))(ours(AT)), theirs.CubicSpline(X, Y)(AT), 1e-9, 1e-9)


@pytest.mark.parametrize("n", [1, 2, 3, 6, 7])
def test_integrals_of_samples(n):
    x, y = X[:n], RNG.normal(size=(3, n))
    for initial in (None, 0):
        wanted = their_integrals.cumulative_trapezoid(y, x, initial=initial)
        close(integrate.cumulative_trapezoid(ours(y), ours(x), initial=initial), wanted)
    close(
        integrate.cumulative_trapezoid(ours(y.T), dx=0.5, axis=0),
        their_integrals.cumulative_trapezoid(y.T, dx=0.5, axis=0),
    )
    if n > 1:
        close(integrate.simpson(ours(y), ours(x)), their_integrals.simpson(y, x))
        close(integrate.simpson(ours(y.T), dx=0.3, axis=0), their_integrals.simpson(y.T, dx=0.3, axis=0))


@pytest.mark.needs("jit")
def test_derivatives_of_integrals():
    check_gradient(
        lambda y, x: integrate.simpson(y, x) + integrate.cumulative_trapezoid(y, x).sum(), Y[:6, 0], X[:6]
    )


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: interpolate.CubicSpline(X[::-1].copy(), Y), ValueError, "x must increase"),
        (lambda: interpolate.CubicSpline(X, Y, bc_type="free"), ValueError, "bc_type must be one of"),
        (lambda: interpolate.CubicSpline(X, Y, bc_type="periodic"), ValueError, "first and the last value"),
        (lambda: interpolate.CubicSpline(X, Y[:3]), ValueError, "as many as there are values"),
        (lambda: interpolate.make_interp_spline(X, Y, 2), ValueError, "k must be odd"),
        (lambda: interpolate.BSpline(X, Y, 3), ValueError, "takes at least"),
        (lambda: integrate.cumulative_trapezoid(Y, initial=1), ValueError, "None or 0"),
        (lambda: integrate.simpson(Y, X), ValueError, "vector of 2 places"),
    ],
)  # fmt: skip
@pytest.mark.narrow
def test_errors_say_what_to_do(call, error, words):
    with pytest.raises(error, match=words):
        call()
