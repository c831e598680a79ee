"""A law over rules that are written by hand: second derivatives, forward or reverse over either, also where
something underflows or is not taken, beside mpmath's.
"""

import mpmath as mp
import numpy as np
import pytest
import rabbet as rb
import rabbet.numpy as rnp
from rabbet import lax
from rabbet.scipy import special, stats

WAYS = {
    "reverse over reverse": lambda f: rb.grad(rb.grad(f)),
    "forward over reverse": lambda f: rb.jacfwd(rb.grad(f)),
    "reverse over forward": lambda f: rb.grad(rb.jacfwd(f)),
    "forward over forward": lambda f: rb.jacfwd(rb.jacfwd(f)),
}

FAR = (-1e12, -1e8, -1e4, -300, -30, -3, -0.3, 0.3, 3, 30, 300, 1e4, 1e8, 1e12)


def scaled(order, x):
    """``exp(-|x|) I(x)`` of a whole order with its first two derivatives; far out by Hankel's series (NIST
    DLMF 10.40.1).
    """
    a, sign = abs(x), mp.sign(x) ** order
    if a < 200:
        with mp.workdps(60):
            value, beside = mp.besseli(order, a), mp.besseli(order + 1, a)
            slope = beside + order * value / a
            bend = (1 + (order / a) ** 2) * value - slope / a
            found = [value, slope - value, bend - 2 * slope + value]
            return [sign * mp.sign(x) ** n * mp.exp(-a) * d for n, d in enumerate(found)]
    terms, factor = [], 1 / mp.sqrt(2 * mp.pi)
    for k in range(20):
        p = -k - mp.mpf(1) / 2
        terms.append([factor * a**p, factor * p * a ** (p - 1), factor * p * (p - 1) * a ** (p - 2)])
        factor *= -mp.mpf(4 * order**2 - (2 * k + 1) ** 2) / (8 * (k + 1))
    return [sign * mp.sign(x) ** n * sum(column) for n, column in enumerate(zip(*terms, strict=True))]


# The function, its exact second derivative, points.
CASES = {
    "log_ndtr": (
        special.log_ndtr,
        lambda x: (lambda s: -s * (x + s))(mp.npdf(x) / mp.ncdf(x)),
        (-100, -38, -13, -5, -0.5, 0, 0.5, 3, 8),
    ),
    "erfcx": (
        special.erfcx,
        lambda x: (2 + 4 * x * x) * mp.exp(x * x) * mp.erfc(x) - 4 * x / mp.sqrt(mp.pi),
        (-3, -0.5, 0, 0.7, 1, 1.5, 4, 20, 200),
    ),
    "ndtr": (special.ndtr, lambda x: -x * mp.npdf(x), (-12, -3, 0, 1, 9)),
    "erfc": (special.erfc, lambda x: 4 * x * mp.exp(-x * x) / mp.sqrt(mp.pi), (-3, -0.1, 0, 1, 9)),
    "digamma": (
        lax.digamma, lambda x: mp.psi(2, x), (-9.5, -3.01, -0.3, -1e-3, 0.2, 3, 50, 999, 1001, 1e8, 1e15)
    ),
    "lgamma": (lax.lgamma, lambda x: mp.psi(1, x), (-9.5, -3.01, -0.3, -1e-3, 0.2, 3, 50, 1e8, 1e15, 1e30)),
    "log1p": (lax.log1p, lambda x: -1 / (1 + x) ** 2, (-0.9, -1e-6, 0, 3)),
    "expm1": (lax.expm1, mp.exp, (-50, -20, -1e-6, 0, 3)),
    "asin": (lax.asin, lambda x: x / (1 - x * x) ** 1.5, (-0.999999, -0.5, 0, 0.9999)),
    "atanh": (lax.atanh, lambda x: 2 * x / (1 - x * x) ** 2, (-0.999999, -0.5, 0, 0.9999)),
    "entr": (special.entr, lambda x: -1 / x, (1e-6, 0.5, 3)),
    "xlogy": (lambda x: special.xlogy(x, x), lambda x: 1 / x, (1e-6, 0.5, 3)),
    "softplus": (
        lambda x: rnp.logaddexp(x, 0.0), lambda x: mp.exp(-x) / (1 + mp.exp(-x)) ** 2, (-40, -1, 0, 2, 5)
    ),
    "dawsn": (
        special.dawsn,
        lambda x: -2 * x + (4 * x * x - 2) * mp.exp(-x * x) * mp.sqrt(mp.pi) / 2 * mp.erfi(x),
        (-3, 0, 0.5, 1, 4.9, 5.1, 20, 70),
    ),
    "hypot": (lambda x: rnp.hypot(x, 1.0), lambda x: (1 + x * x) ** -1.5, (*FAR, 0)),
    "i0e": (special.i0e, lambda x: scaled(0, x)[2], (*FAR, 7.9, 8.1)),
    "i1e": (special.i1e, lambda x: scaled(1, x)[2], (*FAR, 7.9, 8.1)),
    "t.logpdf": (
        lambda x: stats.t.logpdf(x, 3.0), lambda x: -4 * (3 - x * x) / (3 + x * x) ** 2, (*FAR, 0, 1e15)
    ),
    "soft_sign": (rb.nn.soft_sign, lambda x: -2 * mp.sign(x) / (1 + abs(x)) ** 3, FAR),
    "squareplus": (rb.nn.squareplus, lambda x: 2 * (x * x + 4) ** -1.5, FAR[2:-1]),
    "ndtri": (
        special.ndtri, lambda p: (lambda q: q / mp.npdf(q) ** 2)(mp.sqrt(2) * mp.erfinv(2 * p - 1)),
        (1e-6, 0.1, 0.75),
    ),
}  # fmt: skip


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", CASES)
def test_second_derivatives_beside_exact_values(name, way):
    function, exact, points = CASES[name]
    points = np.asarray(points, "float32")
    out = np.asarray(rb.jit(rb.vmap(WAYS[way](function)))(points))
    with mp.workdps(400):
        wanted = np.array([float(exact(mp.mpf(float(x)))) for x in points])
    np.testing.assert_allclose(out, wanted, rtol=3e-4, atol=1e-37)


@pytest.mark.parametrize("x", [30.0, 1e4, 1e8])
def test_slope_of_the_scaled_complement_far_away(x):
    """It is the difference of two numbers that agree in twice as many digits as ``x`` has."""
    y = 1 / (2 * x * x)
    wanted = -(1 - 3 * y + 15 * y**2 - 105 * y**3) / (np.sqrt(np.pi) * x * x)
    assert float(rb.grad(special.erfcx)(x)) == pytest.approx(wanted, rel=1e-6)


@pytest.mark.parametrize("order", [1, 2, 3])
def test_polygamma_below_zero(order):
    x = np.array([-0.3, -2.75, -9.5, -1e-3], "float32")
    wanted = [float(mp.psi(order, mp.mpf(float(v)))) for v in x]
    np.testing.assert_allclose(lax.polygamma(float(order), x), wanted, rtol=5e-5)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_polygamma_far_out(dtype):
    """A power of ``x`` higher than that of the result may be too large."""
    far = {1: (1e3, 2e3, 1e6, 1e20, 1e36), 2: (1e3, 2e3, 1e15, 1e18), 5: (2e3, 1e6, 3e7), 11: (1001, 2e3)}
    for order, points in far.items():
        x = np.array([*points, np.inf], dtype)
        wanted = [float(mp.psi(order, mp.mpf(float(v)))) for v in x[:-1]]
        found = lax.polygamma(rnp.full(x.shape, order, dtype), rnp.asarray(x, dtype))
        assert found.dtype == dtype
        np.testing.assert_allclose(found, [*wanted, 0], rtol=2e-6 if dtype == "float32" else 1e-13)


def test_polygamma_at_its_poles():
    assert np.isinf(lax.polygamma(1.0, rnp.array([0.0, -2.0]))).all()
    assert np.isnan(lax.polygamma(2.0, rnp.array([0.0, -2.0]))).all()


@pytest.mark.parametrize(("order", "function"), [(0, special.i0e), (1, special.i1e)])
def test_slopes_of_scaled_bessel_functions_far_out(order, function):
    x = np.array([*FAR, 7.9, 8.1], "float32")
    with mp.workdps(60):
        wanted = [float(scaled(order, mp.mpf(float(v)))[1]) for v in x]
    np.testing.assert_allclose(rb.vmap(rb.grad(function))(x), wanted, rtol=2e-6)
    with rb.config.override(enable_x64=True):
        with mp.workdps(60):
            wanted = [float(scaled(order, mp.mpf(float(v)))[1]) for v in x.astype("float64")]
        np.testing.assert_allclose(rb.vmap(rb.grad(function))(x.astype("float64")), wanted, rtol=2e-13)
