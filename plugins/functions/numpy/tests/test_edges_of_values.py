"""Right values where there is little to compute with: nothing, NaN, narrow integers."""

import itertools
import math

import numpy as np
import pytest
import rabbet as rb
import rabbet.numpy as rnp
from rabbet import lax

NAN = math.nan


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (0, 0)])
def test_norms_of_nothing(shape):
    empty = rnp.zeros(shape)
    for order in (1, 2, math.inf, "nuc", "fro"):
        assert float(rnp.linalg.matrix_norm(empty, ord=order)) == 0.0
    with pytest.raises(ValueError, match="smallest of no numbers"):
        rnp.linalg.norm(empty, ord=-2)
    assert float(rnp.linalg.norm(rnp.zeros(0), ord=math.inf)) == 0.0
    with pytest.raises(ValueError, match="cond takes matrices with elements"):
        rnp.linalg.cond(rnp.zeros((0, 0)))


@pytest.mark.forbidden("debug_nans", "debug_infs")
@pytest.mark.needs("bfloat16")
def test_nan_counts_once():
    values, counts = rnp.unique(rnp.array([NAN, 1, -NAN, NAN], "bfloat16"), return_counts=True)
    assert values.dtype == rnp.bfloat16 and counts.tolist() == [1, 3]
    assert rnp.union1d(values, values).shape == (2,)
    mixed = rnp.array([complex(0, NAN), complex(NAN, 1), 1, complex(NAN, 0)])
    for found in (rnp.unique(mixed), rnp.unique(mixed, size=2)):
        assert found.shape == (2,) and found[0] == 1
        assert np.isnan(found[1].real) and found[1].imag == 0


def test_sums_of_narrow_integers_have_room():
    full = rnp.full(3, 200, "uint8")
    assert rnp.convolve(full, full).tolist() == [40000, 80000, 120000, 80000, 40000]
    assert rnp.correlate(full, full, "full").dtype == np.float32
    whole = rnp.convolve(full, full, preferred_element_type="int32")
    assert whole.dtype == np.int32 and whole[2] == 120000


@pytest.mark.needs("bfloat16")
def test_products_are_not_summed_in_less():
    a = rnp.ones((2, 3), "int32")
    numbers = (((1,), (1,)), ((), ()))
    for dtype, narrow in (("int32", "int8"), ("float32", "bfloat16"), ("int8", "bool"), ("float32", "int32")):
        with pytest.raises(TypeError, match="dot_general"):
            lax.dot_general(a.astype(dtype), a.astype(dtype), numbers, preferred_element_type=narrow)
    for dtype, wide in (("int8", "int32"), ("int8", "uint8"), ("bool", "int8"), ("bfloat16", "float32")):
        out = lax.dot_general(a.astype(dtype), a.astype(dtype), numbers, preferred_element_type=wide)
        assert out.dtype == wide and int(out[0, 0]) == 3


def test_residuals_of_dependent_columns():
    x, residuals, rank, _ = rnp.linalg.lstsq(rnp.zeros((3, 2)), rnp.ones(3), numpy_resid=True)
    assert residuals.shape == (0,) and int(rank) == 0 and x.tolist() == [0, 0]
    assert rnp.linalg.lstsq(rnp.eye(3)[:, :2], rnp.ones(3), numpy_resid=True)[1].shape == (1,)


@pytest.mark.forbidden("debug_nans", "debug_infs")
def test_a_rest_that_is_no_number():
    quotient, rest = rnp.polydiv(rnp.array([1, 2]), rnp.array([0, 3]))
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(quotient[:1], np.polydiv([1, 2], [0, 3])[0][:1])
    assert np.isnan(rest[0]) and np.isinf(quotient[0])


@pytest.mark.forbidden("debug_nans", "debug_infs")
def test_the_step_between_fewer_than_two():
    for num in (0, 1):
        _, step = rnp.linspace(0.0, rnp.ones((2, 3)), num, retstep=True)
        assert step.shape == () and np.isnan(step)
    assert rnp.linspace(0.0, rnp.ones((2, 3)), 1, endpoint=False, retstep=True)[1].shape == (2, 3)


@pytest.mark.forbidden("numpy_dtype_promotion")
def test_a_dtype_for_integers_that_only_floats_hold():
    for a in ("int8", "int32", "int64"):
        assert rnp.promote_types(a, "uint64") == rnp.promote_types("uint64", a) == np.float64
    assert rnp.promote_types("int8", "uint8") == np.int16


@pytest.mark.forbidden("debug_nans", "debug_infs")
@pytest.mark.needs("jit")
def test_a_factor_that_is_not_there_is_lower_still():
    for factor in (rnp.linalg.cholesky(-rnp.eye(2)), rb.jit(lax.linalg.cholesky)(-rnp.eye(2))):
        assert factor[0, 1] == 0 and np.isnan(factor[1, 1])


@pytest.mark.narrow
@pytest.mark.needs("int4", "uint4", "float8_e4m3fn")
def test_totals_and_shares_of_narrow_dtypes():
    x = rnp.array([1, 2, 4])
    assert rnp.cumulative_sum(x.astype("int4")).dtype == rnp.cumulative_sum(x.astype("int8")).dtype == "int32"
    assert rnp.cumulative_sum(x.astype("uint4")).dtype == "uint32"
    for share in (rnp.median, rnp.nanmedian, lambda v: rnp.quantile(v, 0.5)):
        found = share(x.astype("float8_e4m3fn"))
        assert found.dtype == "float8_e4m3fn"
        assert float(found) == 2.0


@pytest.mark.forbidden("debug_nans", "debug_infs")
def test_degrees_of_freedom_that_are_not_whole():
    x = np.array([1.0, np.nan, 2.0, 4.0], "float32")
    for ddof in (0.5, 1, 2.5):
        np.testing.assert_allclose(rnp.nanvar(x, ddof=ddof), np.nanvar(x, ddof=ddof), rtol=1e-6)
    assert np.isnan(rnp.nanstd(x, ddof=3))


@pytest.mark.parametrize("many", [20, 200])
def test_a_long_convolution_is_computed_in_parts(many):
    """Of terms that are few, and in blocks."""
    a, v = np.sin(np.arange(60000.0)), np.cos(np.arange(float(many)))
    assert np.allclose(rnp.convolve(a, v, "same"), np.convolve(a, v, "same"), atol=1e-3)
    exact = rnp.convolve(a, v, precision=lax.Precision.HIGHEST)
    assert np.allclose(exact, np.convolve(a, v), atol=1e-3)


@pytest.mark.parametrize("many", [20, 60000])
def test_a_convolution_refuses_a_dtype_that_loses_parts(many):
    """Of long vectors as of short ones."""
    a, v = np.full(many, 1.5 + 2j, "complex64"), np.ones(20, "complex64")
    with pytest.raises(TypeError, match="cannot be summed in float32"):
        rnp.convolve(a, v, preferred_element_type="float32")
    with pytest.raises(TypeError, match="cannot be summed in int32"):
        rnp.convolve(a.real, v.real, preferred_element_type="int32")
    found = rnp.convolve(a.real.astype("float16"), v.real.astype("float16"), preferred_element_type="float32")
    assert found.dtype == "float32" and float(found[19]) == 30.0


@pytest.mark.needs("grad")
def test_a_bessel_function_whose_exponential_alone_is_infinite():
    assert math.isclose(float(rnp.i0(90.0)), 5.139238e37, rel_tol=1e-6)
    assert math.isclose(float(rb.grad(rnp.i0)(-91.0)), -1.3816168e38, rel_tol=1e-6)


@pytest.mark.forbidden("debug_nans", "debug_infs")
def test_trapezoid_of_even_steps_makes_no_copy_and_overflows_only_where_the_integral_does():
    big = 3e38
    inf = math.inf
    for y in ([1, 2, 4], [inf, 1, 2], [1, inf, 2], [inf, 1, -inf], [1, NAN, 2], [1, 2], [5]):
        wanted = sum(0.5 * (a + b) for a, b in itertools.pairwise(y))
        assert np.array_equal(rnp.trapezoid(rnp.array(y, "float32")), np.float32(wanted), equal_nan=True), y
    assert rnp.trapezoid(rnp.array([big, 0, big], "float32")) == np.float32(big)
    columns = rnp.arange(12.0).reshape(4, 3)
    assert rnp.trapezoid(columns, dx=2, axis=0).tolist() == [27.0, 33.0, 39.0]
    assert rnp.trapezoid(columns[:0], axis=0).tolist() == [0.0, 0.0, 0.0]


@pytest.mark.needs("jit")
def test_trapezoid_takes_no_memory_for_shifted_copies():
    compiled = rb.jit(rnp.trapezoid).lower(rb.ShapeDtypeStruct((100_000,), "float32")).compile()
    assert compiled.memory_analysis().temp_size_in_bytes < 1000


@pytest.mark.forbidden("debug_infs")
@pytest.mark.needs("grad", "jvp", "vmap")
def test_slopes_of_trapezoid():
    """Of infinite ends too, in both modes."""
    endless = rnp.array([[math.inf, 1, 2, 3], [0, 1, 2, -math.inf]])
    assert rb.vmap(rb.grad(rnp.trapezoid))(endless).tolist() == [[0.5, 1.0, 1.0, 0.5]] * 2
    assert rb.grad(rnp.trapezoid)(rnp.arange(4.0)).tolist() == [0.5, 1.0, 1.0, 0.5]
    change = rnp.array([1.0, 10.0, 100.0, 1000.0])
    assert rb.jvp(rnp.trapezoid, (endless[0],), (change,))[1] == 610.5


@pytest.mark.forbidden("debug_nans", "debug_infs")
@pytest.mark.parametrize(("ours", "theirs"), [(rnp.logaddexp, np.logaddexp), (rnp.logaddexp2, np.logaddexp2)])
def test_logarithms_of_sums_are_reduced_without_a_loop(ours, theirs):
    a = np.random.default_rng(0).normal(0, 30, (3, 4, 5)).astype("float32")
    for axis in (0, -1, 1):
        np.testing.assert_allclose(ours.reduce(a, axis), theirs.reduce(a, axis), rtol=3e-6)
    np.testing.assert_allclose(ours.reduce(a, None), theirs.reduce(a.ravel()), rtol=3e-6)
    np.testing.assert_allclose(ours.reduce(a, 0, where=a > 0), theirs.reduce(a, 0, where=a > 0), rtol=1e-5)
    assert ours.reduce(a, (0, 2), keepdims=True).shape == (1, 4, 1)
    for x in ([], [-np.inf] * 2, [np.inf, 1], [np.nan, 1], [1e4, 1e4]):
        x = np.array(x, "float32")
        with np.errstate(invalid="ignore"):
            np.testing.assert_allclose(ours.reduce(x), theirs.reduce(x), rtol=1e-6)
    assert np.isclose(ours.reduce(np.array([1.0, 2.0]), initial=5.0), theirs.reduce([1.0, 2.0], initial=5.0))
    z = np.array([1 + 1j, 2], "complex64")  # has no largest element
    assert np.isclose(rnp.logaddexp.reduce(z), np.log(np.exp(z).sum()))


@pytest.mark.forbidden("debug_nans", "debug_infs")
@pytest.mark.needs("grad", "jit")
def test_slopes_of_logarithms_of_sums():
    x = np.array([1.0, 2.0, -np.inf], "float32")
    slopes = rb.grad(rnp.logaddexp.reduce)(x)
    np.testing.assert_allclose(slopes, np.exp(x - np.logaddexp(1, 2)), rtol=1e-6)
    assert rb.grad(rnp.logaddexp.reduce)(np.full(2, -np.inf, "float32")).tolist() == [0, 0]
    assert "while" not in rb.jit(rnp.logaddexp.reduce).lower(x).as_text()
