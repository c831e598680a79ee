"""Bessel functions of any real order: values against mpmath, derivatives of both modes, ends and poles."""

import math

import mpmath as mp
import numpy as np
import pytest
import rabbet as rb
import rabbet.numpy as rnp
from rabbet.scipy import special

# Orders and arguments in every region of the algorithms: series, integral, fractions, expansions.
ORDERS = np.array([0, 0.5, 1, 2.25, 7, 24.6, 26.5, 60, -0.4, -3, -5.75, 0.001, 12.5, 3.3, 0, 120.5])
PLACES = np.array([1e-8, 0.3, 1.9, 2.1, 5, 11, 3, 40, 0.7, 2.5, 9, 1.5, 22, 60, 1e4, 130])
KINDS = {
    "jv": mp.besselj,
    "yv": mp.bessely,
    "iv": mp.besseli,
    "kv": mp.besselk,
    "ive": lambda v, z: mp.besseli(v, z) * mp.exp(-z),
    "kve": lambda v, z: mp.besselk(v, z) * mp.exp(z),
}


def exact(function, *args):
    with mp.workdps(30):
        return np.array(
            [float(function(*[mp.mpf(float(x)) for x in row])) for row in zip(*args, strict=True)]
        )


def wide(*args):
    return [rnp.asarray(np.asarray(x, "float64"), "float64") for x in args]


def sizes(name):
    """What errors are measured by: of oscillating functions their modulus."""
    if name not in ("jv", "yv"):
        return np.abs(exact(KINDS[name], ORDERS, PLACES))
    both = [exact(KINDS[n], ORDERS, PLACES) for n in ("jv", "yv")]
    return np.where(np.abs(ORDERS) < PLACES, np.hypot(*both), np.abs(both[name == "yv"]))


def often(names, *kept):
    """Cases of which all but some are long to compile and show little more than those."""
    return [name if name in kept else pytest.param(name, marks=pytest.mark.exhaustive) for name in names]


@pytest.mark.parametrize("name", often(KINDS, "jv", "yv", "iv", "kv"))
def test_values(name):
    with np.errstate(over="ignore"):
        wanted, size = exact(KINDS[name], ORDERS, PLACES), sizes(name)
    fine = np.isfinite(wanted)
    found = np.asarray(getattr(special, name)(*wide(ORDERS, PLACES)))
    assert (np.abs(found[fine] - wanted[fine]) <= 3e-14 * size[fine]).all()
    np.testing.assert_array_equal(found[~fine], wanted[~fine])


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", KINDS)
def test_values_in_single_precision(name):
    v, z = ORDERS.astype("f4"), PLACES.astype("f4")
    found = np.asarray(getattr(special, name)(v, z))
    wanted, size = exact(KINDS[name], v, z), sizes(name)
    fine = (size < 3e38) & (size > 1e-37)
    assert found.dtype == "float32"
    assert (np.abs(found[fine] - wanted[fine]) <= 2e-5 * size[fine]).all()


SLOPES = {
    "jv": (2.25, 3.1), "yv": (0.7, 1.3), "iv": (1.5, 4.0), "kv": (0.3, 2.5), "ive": (0.5, 0.8), "kve": (2, 3),
}  # fmt: skip


@pytest.mark.needs("jit")
@pytest.mark.parametrize("name", often(SLOPES, "jv", "kv"))
def test_derivatives_by_the_argument(name):
    v, z = SLOPES[name]
    order, place = wide(v, z)

    @rb.jit
    def all_of_them(x):
        function = lambda x: getattr(special, name)(order, x)
        # Forward over reverse: both modes, and the second derivative.
        return rb.jvp(rb.grad(function), (x,), (rnp.ones_like(x),))

    slope, second = map(float, all_of_them(place))
    with mp.workdps(25):
        wanted = [float(mp.diff(lambda t: KINDS[name](v, t), z, n)) for n in (1, 2)]
    np.testing.assert_allclose(slope, wanted[0], rtol=1e-12)
    np.testing.assert_allclose(second, wanted[1], rtol=1e-11)


@pytest.mark.exhaustive
@pytest.mark.needs("jit")
def test_derivatives_by_the_order():
    """Of the modified functions, as a Matern kernel's smoothness asks for; in every region."""
    v, z = wide([0.3, 1.7, 2.0, 30.0], [0.9, 6.0, 0.5, 12.0])
    for name in ("iv", "kv"):
        function = getattr(special, name)
        found = rb.jit(lambda v: rb.jvp(lambda v: function(v, z), (v,), (rnp.ones_like(v),))[1])(v)  # noqa: B023
        wanted = exact(lambda a, b, f=KINDS[name]: mp.diff(lambda t: f(t, b), a), v, z)
        np.testing.assert_allclose(found, wanted, rtol=1e-11)
    for name in ("jv", "yv"):
        with pytest.raises(TypeError, match=f"{name} has no derivative by v"):
            rb.grad(getattr(special, name))(1.0, 2.0)


@pytest.mark.exhaustive
@pytest.mark.needs("jit", "vmap")
def test_mapped_traced_and_mixed_calls_agree():
    v, z = ORDERS[:6].astype("f4"), PLACES[:6].astype("f4")
    for name in ("jv", "kv"):
        function = getattr(special, name)
        eager = np.asarray(function(v, z))
        np.testing.assert_allclose(rb.vmap(function)(v, z), eager, rtol=1e-6)
        np.testing.assert_allclose(rb.jit(function)(v[2], z)[2], eager[2], rtol=1e-6)
        assert function(1, rnp.float16(2)).dtype == "float16"


@pytest.mark.exhaustive
def test_functions_of_one_order():
    x = np.array([0.1, 1.7, 8.0, 33.0])
    for name, function, v in [
        ("j0", mp.besselj, 0), ("j1", mp.besselj, 1), ("y0", mp.bessely, 0), ("y1", mp.bessely, 1),
        ("k0", mp.besselk, 0), ("k1", mp.besselk, 1),
    ]:  # fmt: skip
        found = getattr(special, name)(*wide(x))
        np.testing.assert_allclose(found, exact(lambda t, f=function, v=v: f(v, t), x), rtol=5e-14)
        if name.startswith("k"):
            scaled = getattr(special, name + "e")(*wide(x))
            np.testing.assert_allclose(scaled, np.asarray(found) * np.exp(x), rtol=1e-13)


INF, NAN = math.inf, math.nan
# name: (order, argument, value)
CORNERS = {
    "jv": [(0, 0, 1), (1, 0, 0), (0.5, 0, 0), (0, INF, 0), (1, -2, -0.5767248077568734), (0.5, -1, NAN),
           (NAN, 1, NAN), (1, NAN, NAN), (-2, 0, 0), (-0.5, 0, INF), (0, 1e-300, 1), (300, 1, 0)],
    "yv": [(0, 0, -INF), (0, -1, NAN), (0, INF, 0), (300, 1, -INF), (1, NAN, NAN)],
    "iv": [(0, 0, 1), (2, 0, 0), (1, -2, -1.5906368546373291), (0, INF, INF), (0.5, -1, NAN), (0, NAN, NAN)],
    "kv": [(0, 0, INF), (1, 0, INF), (0, INF, 0), (0, -1, NAN), (NAN, 1, NAN)],
    "ive": [(0, INF, 0), (3, 0, 0), (0, 0, 1)],
    "kve": [(0, INF, 0), (0.5, 0, INF)],
}  # fmt: skip


@pytest.mark.forbidden("debug_nans", "debug_infs")
@pytest.mark.parametrize("name", often(CORNERS, "jv", "yv", "iv", "kv"))
def test_ends_and_poles(name):
    rows = CORNERS[name] * 16
    v, z, wanted = np.array(rows[:16], float).T  # of the shape of the values above: no second program
    np.testing.assert_allclose(getattr(special, name)(*wide(v, z)), wanted, rtol=1e-14)


@pytest.mark.exhaustive
@pytest.mark.needs("jit")
def test_slopes_at_zero():
    (zero,) = wide(0.0)
    for v, slope in ((0, 0.0), (1, 0.5), (2, 0.0)):
        for name in ("jv", "iv"):
            assert float(rb.grad(getattr(special, name), 1)(*wide(v), zero)) == slope


SPHERICAL = {
    "spherical_jn": lambda n, z: mp.sqrt(mp.pi / (2 * z)) * mp.besselj(n + 0.5, z),
    "spherical_yn": lambda n, z: mp.sqrt(mp.pi / (2 * z)) * mp.bessely(n + 0.5, z),
    "spherical_in": lambda n, z: mp.sqrt(mp.pi / (2 * z)) * mp.besseli(n + 0.5, z),
    "spherical_kn": lambda n, z: mp.sqrt(mp.pi / (2 * z)) * mp.besselk(n + 0.5, z),
}


@pytest.mark.forbidden("debug_nans", "debug_infs")
@pytest.mark.parametrize("name", often(SPHERICAL, "spherical_jn"))
def test_spherical_functions(name):
    n, z = np.array([0, 1, 2, 5, 9]), np.array([0.7, 2.5, 1e-3, 14.0, 40.0])
    function = getattr(special, name)
    orders, places = wide(n, z)
    slope = exact(lambda n, z: mp.diff(lambda t: SPHERICAL[name](n, t), z), n, z)
    np.testing.assert_allclose(function(orders, places), exact(SPHERICAL[name], n, z), rtol=3e-13)
    np.testing.assert_allclose(function(orders, places, derivative=True), slope, rtol=3e-13)
    assert np.isnan(function(*wide(0.5, 1.0))) and np.isnan(function(*wide(-1, 1.0), derivative=True))


@pytest.mark.exhaustive
@pytest.mark.forbidden("debug_nans", "debug_infs")
@pytest.mark.needs("jit")
@pytest.mark.parametrize("name", SPHERICAL)
def test_derivatives_of_spherical_functions(name):
    n, z = np.array([0, 1, 2, 5, 9]), np.array([0.7, 2.5, 1e-3, 14.0, 40.0])
    orders, places = wide(n, z)
    slope = exact(lambda n, z: mp.diff(lambda t: SPHERICAL[name](n, t), z), n, z)
    found = rb.jit(rb.grad(lambda z: getattr(special, name)(orders, z).sum()))(places)
    np.testing.assert_allclose(found, slope, rtol=3e-13)


@pytest.mark.exhaustive
@pytest.mark.needs("jit")
def test_spherical_functions_at_zero():
    (zero,) = wide(0.0)
    slope = rb.grad(special.spherical_jn, 1)
    assert float(special.spherical_jn(*wide(0), zero)) == 1.0
    np.testing.assert_allclose([float(slope(*wide(n), zero)) for n in (0, 1, 2)], [0, 1 / 3, 0], atol=1e-16)
