"""The laws of the special functions, then wide ranges, corners and messages."""

import numpy as np
import pytest
import scipy.special as sp
from rabbet import lax
from rabbet.errors import MissingRule
from rabbet.testing import driver
from rabbet.testing.draws import device_array, floats
from rabbet.testing.slopes import slope
from rabbet.testing.suite import law_tests
from rabbet_special.rows import ROWS

test_value, test_extremes, test_mapping, test_derivatives, test_kinds = law_tests(ROWS)

EDGES = np.array([0.0, 0.5, 1.0, 2.0, 1e-30, 1e30, -1.0, np.inf, -np.inf, np.nan])
RNG = np.random.default_rng(0)


def with_edges(draw, edges, count):
    """Columns of drawn numbers, then all combinations of edges: always of one length, for one program."""
    corners = np.stack([a.ravel() for a in np.meshgrid(*[edges] * count)])
    return [np.concatenate([a, b]) for a, b in zip(draw, corners, strict=True)]


def positive(low, high, size=400):
    return np.exp(RNG.uniform(np.log(low), np.log(high), size))


def largest_error(fn, reference, columns, dtype):
    """The largest error, relative to results above 1e-2 and a hundredfold below; what is not finite must
    agree.
    """
    columns = [c.astype(dtype) for c in columns]
    with np.errstate(all="ignore"):
        wanted = reference(*[c.astype(np.float64) for c in columns])
    got = np.asarray(fn(*[device_array(c) for c in columns])).astype(np.float64)
    finite = np.isfinite(wanted)
    np.testing.assert_array_equal(got[~finite], wanted[~finite])
    return float(np.max(np.abs(got - wanted)[finite] / np.maximum(np.abs(wanted[finite]), 1e-2)))


def incomplete_gamma_arguments():
    shape = positive(1e-4, 1e5, 1200)
    spread = np.repeat([0.03, 0.3, 3.0], 400)
    return with_edges([shape, shape * np.exp(RNG.uniform(-1, 1, 1200) * spread)], EDGES, 2)


@pytest.mark.forbidden("debug_nans", "debug_infs")
@pytest.mark.parametrize("dtype, bound", [("float32", 2e-4), ("float64", 1e-11)])
@pytest.mark.parametrize("fn, reference", [(lax.igamma, sp.gammainc), (lax.igammac, sp.gammaincc)])
def test_incomplete_gamma_over_a_wide_range(fn, reference, dtype, bound):
    assert largest_error(fn, reference, incomplete_gamma_arguments(), dtype) < bound


@pytest.mark.forbidden("debug_nans", "debug_infs")
@pytest.mark.parametrize("dtype, bound", [("float32", 2e-4), ("float64", 1e-11)])
def test_incomplete_beta_over_a_wide_range(dtype, bound):
    a, b = positive(1e-3, 1e4, 1000), positive(1e-3, 1e4, 1000)
    x = np.clip(RNG.beta(a, b), 1e-30, 1 - 1e-6)
    columns = with_edges([a, b, x], np.delete(EDGES, [4, 5]), 3)
    assert largest_error(lax.betainc, sp.betainc, columns, dtype) < bound


@pytest.mark.forbidden("debug_nans")
@pytest.mark.parametrize(
    "fn, reference", [(lax.bessel_i0e, sp.i0e), (lax.bessel_i1e, sp.i1e)], ids=["i0e", "i1e"]
)
def test_bessel_functions_over_a_wide_range(fn, reference):
    x = np.concatenate([positive(1e-8, 1e6), -positive(1e-8, 1e6), EDGES])
    assert largest_error(fn, reference, [x], "float32") < 2e-6
    assert largest_error(fn, reference, [x], "float64") < 1e-14


def test_gamma_functions_of_negative_numbers():
    x = RNG.uniform(-20, -0.1, 200)
    for fn, reference in ((lax.lgamma, sp.gammaln), (lax.digamma, sp.digamma)):
        assert largest_error(fn, reference, [x], "float64") < 1e-10


def test_derivatives_at_corners():
    assert slope(lax.bessel_i1e, floats(0.0)) == [0.5]
    assert slope(lax.bessel_i0e, floats(0.0)) == [0.0]
    assert slope(lambda x: lax.igamma(1.0, x), floats(0.0)) == pytest.approx([1.0])
    assert slope(lambda x: lax.betainc(1.0, 1.0, x), floats(0.0, 0.5, 1.0)) == pytest.approx([1.0] * 3)


# Of mpmath: a, b, x, what is below x, what is above, and the relative error that is allowed. For large shapes
# it is what the last place of x makes of it.
BETA_TAILS = [
    (1e-10, 1.0, 0.3, 0.9999999998796028, 1.2039728042534586e-10, 4e-15),
    (1e-5, 1e7, 1e-7, 0.9999978061382085, 2.1938617914056257e-6, 1e-14),  # a difference, a fifth of its terms
    (0.25, 8.0, 0.1, 0.9082538618106688, 0.09174613818933122, 4e-15),
    (1e-290, 3.0, 0.2, 1.0, 4.894379124341003e-291, 4e-15),
    (2.0, 1e10, 1e-13, 4.996667916833403e-7, 0.9999995003332083, 4e-15),
    (3.0, 1e-3, 0.999, 0.005395767676568924, 0.9946042323234311, 4e-15),
    (1e-8, 1e-3, 0.7, 0.9999900085731939, 9.991426806159118e-6, 4e-15),
    (2e7, 5e7, 0.2858, 0.9437882082174253, 0.05621179178257475, 1e-11),
    (1e10, 3e12, 0.00332218, 0.008516786303625628, 0.9914832136963744, 1e-9),
    (1e8, 1e8, 0.49991, 0.005454748909701956, 0.994545251090298, 1e-11),
    (1e30, 1e30, 0.5, 0.5, 0.5, 0.0),
]


def test_incomplete_beta_of_shapes_and_tails_at_the_ends():
    a, b, x, below, above, room = np.array(BETA_TAILS).T
    columns = [device_array(c) for c in (a, b, x)]
    for fn, wanted in ((lax.betainc, below), (lax.betaincc, above)):
        assert np.all(abs(np.asarray(fn(*columns)) - wanted) <= room * wanted)


def test_the_density_of_large_shapes():
    slopes = slope(lambda x: lax.betainc(1e6, 1e6, x), floats(0.5))
    assert slopes == pytest.approx([1128.3790260481], rel=1e-6)
    upper = slope(lambda x: lax.betaincc(3.0, 1e7, x), floats(2e-7))
    assert upper == pytest.approx([-2706706.4767440], rel=1e-6)


def test_a_gamma_sample_moves_with_its_shape():
    """Along dx / da the distribution function stays where it is."""
    a, x = device_array(np.array([0.7, 3.0, 40.0])), device_array(np.array([0.3, 5.0, 41.0]))

    def moved(a):
        return (lax.igamma(a, lax.add(x, lax.mul(lax.sub(a, fixed), lax.random_gamma_grad(fixed, x)))),)

    fixed = a
    ((tangent,)) = driver.jvp(moved, (a,), (device_array(np.ones(3)),))[1]
    np.testing.assert_allclose(np.asarray(tangent), 0.0, atol=1e-13)


@pytest.mark.parametrize(
    "fn, args, message",
    [
        (lax.betainc, (2.0, 3.0, 0.5), r"by its shapes a and b is not known in closed form"),
        (lax.polygamma, (1.0, 3.0), r"there is no derivative by the order m"),
        (lax.zeta, (2.0, 3.0), r"by the exponent x is not known in closed form"),
        (lax.igamma_grad_a, (2.0, 3.0), r"second derivative of the incomplete gamma function by a"),
        (lax.random_gamma_grad, (2.0, 3.0), r"it is a derivative already"),
    ],
)
def test_derivatives_that_are_not_offered(fn, args, message):
    first, *rest = [floats(v) for v in args]
    with pytest.raises(MissingRule, match=f"'{getattr(fn, 'name', '')}': .*{message}"):
        slope(fn, first, *rest)


def test_accuracy_is_a_parameter():
    x = floats(0.5, 1.0)
    for accuracy in (
        lax.AccuracyMode.HIGHEST,
        lax.AccuracyMode.DEFAULT,
        lax.Tolerance(rtol=1e-4, ulps=2),
        None,
    ):
        np.testing.assert_allclose(np.asarray(lax.exp(x, accuracy=accuracy)), np.exp([0.5, 1.0]), rtol=1e-3)
    np.testing.assert_allclose(
        np.asarray(lax.exp2(x, accuracy=lax.AccuracyMode.HIGHEST)), [2**0.5, 2.0], rtol=1e-6
    )
    assert slope(lambda x: lax.log(x, accuracy=lax.AccuracyMode.HIGHEST), floats(0.5)) == [2.0]
    with pytest.raises(
        TypeError, match="sin: accuracy must be an AccuracyMode, a Tolerance or None, got int 3"
    ):
        lax.sin(x, accuracy=3)
    with pytest.raises(ValueError, match="tolerances must not be negative"):
        lax.Tolerance(atol=-1.0)


@pytest.mark.parametrize(
    "fn, at",
    [
        (lambda x: lax.polygamma(1.0, x), 2.0),
        (lambda x: lax.zeta(2.5, x), 2.0),
        (lambda x: lax.igamma(1.5, x), 2.0),
        (lambda x: lax.igammac(x, 1.5), 2.0),
        (lambda x: lax.betainc(1.5, 2.5, x), 0.3),
    ],
)
def test_numbers_beside_double_precision(fn, at):
    x, one, step = (device_array(np.array(v)) for v in (at, 1.0, 1e-6))
    (tangent,) = driver.jvp(lambda y: (fn(y),), (x,), (one,))[1]
    difference = (float(fn(lax.add(x, step))) - float(fn(lax.sub(x, step)))) / 2e-6
    assert tangent.dtype == np.float64 and float(tangent) == pytest.approx(difference, rel=1e-6)


@pytest.mark.forbidden("debug_nans", "debug_infs")
@pytest.mark.parametrize("dtype, eps", [("float32", 6e-8), ("float64", 2e-15)])
def test_log_gamma_keeps_its_digits_around_its_zeros_below_zero_and_for_denormals(dtype, eps):
    x = np.concatenate([np.linspace(0.05, 4.5, 890), [1, 2, 1.0009765625, 1.9990234375, 40.0]]).astype(dtype)
    wanted = sp.gammaln(x.astype(np.float64))
    found = np.asarray(lax.lgamma(device_array(x)), np.float64)
    # As many digits as the argument allows, whose own last one counts most around the zeros.
    np.testing.assert_allclose(found, wanted, rtol=6 * eps, atol=1e-9 if dtype == "float32" else 1e-15)
    if dtype == "float32":
        x = np.concatenate(
            [np.linspace(-10.7, 0.0, 1500), [-2.4570248, -5.9999, -30.25, -4096.3, -5e6 - 0.5]]
        )
        x = x.astype(np.float32)
        wanted, found = sp.gammaln(x.astype(np.float64)), np.asarray(lax.lgamma(device_array(x)), np.float64)
        np.testing.assert_allclose(found, wanted, rtol=4e-7, atol=2e-7)
        poles = np.array([0, -0.0, -1, -10, -11, -3e9, -np.inf, np.inf, 1e38], np.float32)
        assert np.asarray(lax.lgamma(device_array(poles))).tolist() == [np.inf] * 9
        assert np.isnan(lax.lgamma(device_array(np.float32(np.nan))))
    tiny = np.array([1e-40, -1e-42, 2e-38, np.inf, 0.0], np.float32)
    assert np.allclose(
        lax.lgamma(device_array(tiny)), [92.103409, 96.708579, 87.498234 - 0.693147, np.inf, np.inf]
    )
