"""Numbers far apart, infinities and overflow on the way, beside what follows from the definition."""

import numpy as np
import pytest
import rabbet as rb
import rabbet.numpy as rnp

INF = np.inf


def f4(*numbers):
    return np.array(numbers, "float32")


@pytest.mark.forbidden("debug_nans", "debug_infs")
def test_central_differences_do_not_see_the_number_between():
    x = f4(1, 3e10, 3, 5)
    np.testing.assert_array_equal(rnp.gradient(x)[1:3], [1, (5 - x[1]) / 2])
    found = rnp.gradient(f4(1, INF, 3, 5, 6))
    np.testing.assert_array_equal(found, [INF, 1, -INF, 1.5, 1])


@pytest.mark.forbidden("debug_nans", "debug_infs")
def test_interpolation_is_exact_at_its_points():
    xp, fp = f4(1, 2, 3), f4(1e16, 1, 1e16)
    np.testing.assert_array_equal(rnp.interp(xp, xp, fp), fp)
    up = f4(0, 3, 1e16)
    np.testing.assert_array_equal(rnp.interp(xp, xp, up), up)
    for values in ([1, INF, 3], [INF, INF, 1], [-INF, 2, INF], [INF, -INF, 0]):
        x = f4(0.5, 1, 1.5, 2, 2.75, 3, 4)
        with np.errstate(invalid="ignore"):
            wanted = np.interp(x, xp, values)
        np.testing.assert_array_equal(rnp.interp(x, xp, f4(*values)), wanted, str(values))


@pytest.mark.needs("grad", "vmap")
def test_slopes_of_interpolation_are_those_of_the_pieces():
    xp, fp = f4(0, 1, 3), f4(1, 4, 0)
    slopes = rb.vmap(rb.grad(lambda x: rnp.interp(x, xp, fp)))(f4(0.25, 0.5, 0.75, 1.5, 2.5))
    np.testing.assert_allclose(slopes, [3, 3, 3, -2, -2], rtol=1e-6)
    np.testing.assert_allclose(rb.grad(lambda fp: rnp.interp(0.75, xp, fp))(fp), [0.25, 0.75, 0], rtol=1e-6)


@pytest.mark.forbidden("debug_nans", "debug_infs")
@pytest.mark.parametrize("decimals", [-400, -39, -3, -1, 1, 2, 7, 38, 39, 400])
def test_numbers_without_digits_to_round_stay_as_they_are(decimals):
    """They are rounded by Python, exactly."""
    x = f4(0, 1, -2.5, 15, 25, 123456, 3e38, -1e30, 16777216, INF, -INF, np.nan)
    wanted = [round(float(v), decimals) if np.isfinite(v) else float(v) for v in x]
    np.testing.assert_allclose(rnp.round(x, decimals), f4(*wanted), rtol=2e-7)


@pytest.mark.needs("grad")
def test_the_slope_of_rounding_is_zero():
    assert [float(rb.grad(lambda x: rnp.round(x, 2))(x)) for x in (1.5, 3e38)] == [0, 0]


@pytest.mark.forbidden("debug_nans", "debug_infs")
def test_exponents_that_int32_does_not_hold():
    assert float(rnp.ldexp(1.0, np.uint32(2**32 - 1))) == INF
    with rb.config.override(enable_x64=True):
        found = rnp.ldexp(np.ones(4), np.array([-(2**63), -(2**32) + 3, 2**32, 5]))
        np.testing.assert_array_equal(found, [0, 0, INF, 32])


@pytest.mark.forbidden("debug_nans", "debug_infs")
def test_complex_numbers_with_nan_are_last_and_found_there():
    nan = np.nan
    z = np.array(
        [complex(*p) for p in [(nan, 1), (2, nan), (3, 0), (-INF, nan), (1, 2), (2, -1)]], "complex64"
    )
    ordered = np.sort(z)
    np.testing.assert_array_equal(rnp.sort(z), ordered)
    np.testing.assert_array_equal(rnp.sort_complex(z), ordered)
    np.testing.assert_array_equal(rnp.argsort(z), np.argsort(z, kind="stable"))
    for side in ("left", "right"):
        numbers = ordered[:3]
        found = rnp.searchsorted(ordered, numbers, side=side)
        np.testing.assert_array_equal(found, np.searchsorted(ordered, numbers, side))
