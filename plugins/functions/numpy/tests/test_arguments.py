"""What functions make of each argument: numbers beside arrays while tracing, options that few calls give, and
arguments that are refused.
"""

import numpy as np
import pytest
import rabbet as rb
import rabbet.numpy as rnp

LINE = np.array([0.5, 2.0, 3.0], np.float32)
SOLID = np.arange(24.0, dtype=np.float32).reshape(2, 3, 4)
ROWS = np.array([[0.0, 1.0, 4.0], [2.0, -3.0, 1.0]], np.float32)


# ------------------------------------------------------------------------------ numbers beside arrays
BESIDE_NUMBERS = {
    "hypot": lambda x: rnp.hypot(x, 2),
    "hypot, the other way": lambda x: rnp.hypot(2, x),
    "copysign": lambda x: rnp.copysign(x, -2),
    "copysign, the other way": lambda x: rnp.copysign(2, x),
    "isclose": lambda x: rnp.isclose(x, 2),
    "isclose, the other way": lambda x: rnp.isclose(2, x),
    "allclose": lambda x: rnp.allclose(x, 1),
    "logaddexp2": lambda x: rnp.logaddexp2(x, 2),
    "geomspace": lambda x: rnp.geomspace(x, 10, 3),
    "round": lambda x: rnp.round(x, np.int32(1)),
    "gcd": lambda x: rnp.gcd(x.astype("uint8"), True),
    "fmax": lambda x: rnp.fmax(x.astype(int), 1.5),
    "nextafter": lambda x: rnp.nextafter(x.astype(int), 1.5),
}


@pytest.mark.needs("jit")
@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
@pytest.mark.parametrize("name", BESIDE_NUMBERS)
def test_numbers_are_traced_as_they_are_computed(name, dtype):
    if dtype == "bfloat16":
        pytest.importorskip("rabbet_bfloat16")
    function, x = BESIDE_NUMBERS[name], rnp.asarray(LINE, dtype)
    eager, compiled = function(x), rb.jit(function)(x)
    assert eager.aval == compiled.aval
    np.testing.assert_allclose(np.asarray(eager, "float32"), np.asarray(compiled, "float32"), rtol=1e-2)


@pytest.mark.forbidden("numpy_dtype_promotion")
@pytest.mark.narrow
def test_types_of_numbers_beside_arrays():
    whole = rnp.array([1, 2])
    assert rnp.fmax(whole, 1.5).weak_type and rnp.nextafter(whole, 1.5).weak_type
    assert rnp.select([whole > 1], [3]).weak_type and not rnp.select([whole > 1], [whole]).weak_type
    assert rnp.gcd(4, 6).weak_type
    assert not rnp.gcd(whole > 1, 2).weak_type
    for function, wanted in ((rnp.fmod, [0, 0]), (rnp.left_shift, [0, 2]), (rnp.right_shift, [0, 0])):
        found = function(whole > 1, True)
        assert found.dtype == np.int32 and found.tolist() == wanted
    assert rnp.linspace(0.0, 1.0, 3, retstep=True, dtype="float16")[1].dtype == np.float16
    found = rnp.linalg.matrix_power(np.array([[2, 1], [0, 1]]), 3)
    assert found.dtype == np.int32 and found.tolist() == [[8, 7], [0, 1]]
    assert rnp.linalg.matrix_power(np.array([[2, 1], [0, 1]]), -1).dtype == np.float32


@pytest.mark.forbidden("debug_nans", "debug_infs")
def test_what_is_left_of_a_division_by_zero():
    numbers = np.array([5, -5, 0], "int32")
    assert rnp.fmod(numbers, 0).tolist() == rnp.fmod(numbers, rnp.zeros(3, "int32")).tolist() == [0, 0, 0]
    assert np.isnan(rnp.fmod(5.0, 0.0))


# ------------------------------------------------------------------------------ places and shapes
@pytest.mark.parametrize("axis", [0, 1, 2, -1])
@pytest.mark.needs("vmap")
def test_lines_of_a_solid(axis):
    for function, numpys in ((rnp.sum, np.sum), (lambda v: v[:2], lambda v: v[:2])):
        found = rnp.apply_along_axis(function, axis, SOLID)
        np.testing.assert_array_equal(found, np.apply_along_axis(numpys, axis, SOLID))


@pytest.mark.parametrize("start", [-3, -2, -1, 0, 1, 2, 3])
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_rollaxis_counts_from_the_end(axis, start):
    assert rnp.rollaxis(SOLID, axis, start).shape == np.rollaxis(SOLID, axis, start).shape


def test_several_arrays_are_a_tuple():
    for found in (rnp.broadcast_arrays(1, LINE), rnp.atleast_2d(1, LINE), rnp.meshgrid(LINE, LINE)):
        assert type(found) is tuple and len(found) == 2


# ------------------------------------------------------------------------------ options
WIDTHS = [((1, 2), (4, 5)), ((0, 1), (1, 0)), ((7, 9), (12, 13))]


@pytest.mark.parametrize("widths", WIDTHS)
@pytest.mark.parametrize(
    "options",
    [
        {"mode": "median"},
        {"mode": "median", "stat_length": 2},
        {"mode": "mean"},
        {"mode": "mean", "stat_length": ((1, 2), (2, 1))},
        {"mode": "maximum", "stat_length": (1, 2)},
        {"mode": "minimum", "stat_length": 9},
        {"mode": "reflect", "reflect_type": "odd"},
        {"mode": "symmetric", "reflect_type": "odd"},
    ],
)
def test_pad_as_numpy_does(options, widths):
    for array in (ROWS, ROWS.astype(np.int32), SOLID[0, :2, :1]):
        np.testing.assert_allclose(
            rnp.pad(array, widths, **options), np.pad(array, widths, **options), rtol=1e-6
        )


@pytest.mark.needs("vmap")
def test_pad_by_a_function():
    def ends(line, widths, axis, options):
        return line.at[: widths[0]].set(options["first"]).at[line.shape[0] - widths[1] :].set(axis)

    found = rnp.pad(ROWS, ((1, 0), (2, 1)), ends, first=7)
    assert found.tolist() == [[7, 7, 7, 7, 7, 1], [7, 7, 0, 1, 4, 1], [7, 7, 2, -3, 1, 1]]
    with pytest.raises(ValueError, match="must return a line of 3"):
        rnp.pad(np.ones(2, np.float32), (1, 0), lambda line, *rest: line[:1])


def test_interp_of_complex_values_and_beyond_the_ends():
    x, xp, fp = np.array([-1, 0.5, 1.7, 9], "f"), np.array([0, 1, 3], "f"), np.array([1, 4, 2], "f")
    turned = np.interp(x, xp, fp * (1 + 2j))
    np.testing.assert_allclose(rnp.interp(x, xp, fp * np.complex64(1 + 2j)), turned, rtol=1e-6)
    found = rnp.interp(x, xp, fp, left="extrapolate", right=7)
    np.testing.assert_allclose(found, [-2, 2.5, 3.3, 7], rtol=1e-6)
    np.testing.assert_allclose(rnp.interp(x, xp, fp, right="extrapolate")[-1], -4, rtol=1e-6)
    np.testing.assert_allclose(rnp.interp(x, xp, fp, period=-3), np.interp(x, xp, fp, period=-3), rtol=1e-6)


def test_nan_is_the_largest_complex_number_too():
    found = rnp.searchsorted(np.array([1, 2 + 1j], np.complex64), np.array([np.nan, 1.5], np.complex64))
    assert found.tolist() == [2, 1]


@pytest.mark.parametrize(("start", "stop"), [(1j, 10), (-1j, 8), (1 + 1j, -2 + 3j), (-1.0, -100.0)])
def test_geomspace_in_the_plane(start, stop):
    wanted = np.geomspace(start, stop, 5)
    np.testing.assert_allclose(rnp.geomspace(start, stop, 5), wanted, rtol=1e-5, atol=1e-6)


@pytest.mark.forbidden("numpy_dtype_promotion")
def test_lists_are_compared():
    assert rnp.array_equal(np.array([1, 2]), [1, 2]) and not rnp.array_equal([1, 2], (1, 2, 3))
    assert rnp.array_equiv(np.ones((2, 2), np.float32), [1, 1]) and not rnp.array_equiv([1, 2], 1)


def test_slogdet_takes_either_method():
    for method in (None, "lu", "qr"):
        assert np.isclose(rnp.linalg.slogdet(np.array([[0.0, 2.0], [1.0, 0.0]]), method=method)[0], -1)


def test_histogram_of_complex_weights():
    for density in (False, True):
        found, edges = rnp.histogram(LINE, 2, weights=LINE * np.complex64(1j), density=density)
        wanted, _ = np.histogram(LINE, 2, weights=LINE * 1j, density=density)
        assert found.dtype == np.complex64 and edges.dtype == np.float32
        np.testing.assert_allclose(found, wanted, rtol=1e-6)


@pytest.mark.needs("jit")
def test_kaiser_of_a_traced_shape():
    for m in (0, 1, 4, 5):
        found = rb.jit(lambda beta, m=m: rnp.kaiser(m, beta))(2.5)
        np.testing.assert_allclose(found, np.kaiser(m, 2.5), rtol=1e-6)


# ------------------------------------------------------------------------------ refused
@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda: rnp.round(LINE, 1.5), TypeError),
        (lambda: rnp.copysign(LINE * 1j, LINE), TypeError),
        (lambda: rnp.cov(ROWS, fweights=LINE), TypeError),
        (lambda: rnp.isin(LINE, LINE, method="fast"), ValueError),
        (lambda: rnp.searchsorted(LINE, LINE, method="fast"), ValueError),
        (lambda: rnp.choose(np.array([0]), [LINE], mode="near"), ValueError),
        (lambda: rnp.interp(LINE, LINE, LINE, period=0), ValueError),
        (lambda: rnp.interp(LINE, LINE, LINE, left="near"), ValueError),
        (lambda: rnp.pad(LINE, 1, "mean", stat_length=0), ValueError),
        (lambda: rnp.pad(LINE, 1, "reflect", reflect_type="other"), ValueError),
    ],
)
def test_wrong_arguments_are_refused(call, error):
    with pytest.raises(error):
        call()


@pytest.mark.parametrize("dtype", ["int8", "int16", "int32"])
def test_the_least_integer_has_divisors_that_are_not_negative(dtype):
    least, most = np.iinfo(dtype).min, np.iinfo(dtype).max
    x = np.array([least, least, least, most, 0, 6], dtype)
    for y in (x[::-1].copy(), np.full(6, most, dtype), np.full(6, 3, dtype), np.full(6, -12, dtype)):
        assert rnp.gcd(x, y).tolist() == np.gcd(x, y).tolist()
        assert rnp.gcd(y, x).tolist() == np.gcd(y, x).tolist()
