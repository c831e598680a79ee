"""What has no right result is refused, and nothing that was asked for is left out in silence."""

import numpy as np
import pytest
import rabbet as rb
import rabbet.numpy as rnp
from rabbet.errors import AxisError, DTypeError, ShapeError, TypePromotionError

a = np.arange(6, dtype="float32").reshape(2, 3)
v, truth = a[1], np.array([True, False, True])
z = np.ones(3, "complex64")

BOTH = [  # a TypeError of JAX's, a ValueError of NumPy's, or the other way round
    (AxisError, lambda: rnp.transpose(a, (0, 0))),
    (AxisError, lambda: rnp.flip(a, (0, 0))),
    (AxisError, lambda: rnp.size(a, 5)),
    (ShapeError, lambda: rnp.transpose(a, (0,))),
    (ShapeError, lambda: rnp.reshape(a, (-1, 4))),
    (ShapeError, lambda: rnp.where(truth, v)),
    (ShapeError, lambda: rnp.where(truth, None, v)),
    (ShapeError, lambda: rnp.pad(v, 1.5)),
    (ShapeError, lambda: rnp.vander(v, -1)),
    (ShapeError, lambda: rnp.gradient(v, v[:2])),
    (ShapeError, lambda: rnp.ravel_multi_index((np.array([0, 9]), np.array([1, 2])), (2, 3))),
    (ShapeError, lambda: rnp.ravel_multi_index((np.array([0, -1]), np.array([1, 2])), (2, 3))),
    (ShapeError, lambda: rnp.block([])),
    (ShapeError, lambda: rnp.block([[v], v])),
    (ShapeError, lambda: rnp.block([v, [v]])),
    (ShapeError, lambda: rnp.block((v, v))),
    (DTypeError, lambda: rnp.ravel_multi_index((np.array([0.0]),), (2,))),
    (DTypeError, lambda: rnp.fabs(z)),
    (DTypeError, lambda: rnp.signbit(z)),
    (DTypeError, lambda: rnp.isneginf(z)),
    (DTypeError, lambda: rnp.spacing(z)),
    (DTypeError, lambda: rnp.hypot(z, z)),
    (DTypeError, lambda: rnp.clip(z, 0, 1)),
    (DTypeError, lambda: rnp.quantile(z, 0.5)),
    (DTypeError, lambda: rnp.top_k(z, 2)),
    (DTypeError, lambda: rnp.array(None)),
    (DTypeError, lambda: rnp.array([None, 1])),
]


@pytest.mark.parametrize("case", range(len(BOTH)))
def test_a_refusal_is_a_type_error_and_a_value_error(case):
    expected, call = BOTH[case]
    assert issubclass(expected, TypeError)
    assert issubclass(expected, ValueError)
    with pytest.raises(expected):
        call()


def test_a_complex_number_does_not_lose_half_of_itself():
    for make in (lambda: rnp.array(2j, dtype="float32"), lambda: rnp.float32(2j)):
        with pytest.raises(TypeError, match="two parts"):
            make()
    assert rnp.array(2j, dtype="complex64") == 2j


def test_there_is_nowhere_to_write_a_result():
    arrays = {"choose": (np.zeros(3, int), [v, v]), "compress": (truth, v), "stack": ([v, v],)}
    arrays["take"] = (v, 0)
    shares = dict.fromkeys("quantile nanquantile percentile nanpercentile".split(), (v, 0.5))
    for name in ("median", "nanmedian", "modf", "round", "around", "outer", "sum", *arrays, *shares):
        given = (arrays | shares | {"outer": (v, v)}).get(name, (v,))
        with pytest.raises(NotImplementedError, match=f"{name if name != 'around' else 'round'}.*out="):
            getattr(rnp, name)(*given, out=v)


def test_places_outside_are_no_error_of_take():
    with pytest.raises(NotImplementedError, match="mode='fill'"):
        rnp.take(v, 0, mode="raise")


@pytest.mark.needs("jit")
def test_places_that_are_traced_are_not_checked():
    index = rb.jit(lambda i: rnp.ravel_multi_index((i, i), (2, 3)))
    assert index(np.array([1, 0])).tolist() == [4, 0]


def test_arrays_have_no_fields_to_sort_by():
    for sort in (rnp.sort, rnp.argsort):
        with pytest.raises(TypeError, match="order"):
            sort(v, order="name")


def test_sizes_over_axes():
    assert [rnp.size(a, axis) for axis in (None, 0, -1, (0, 1), ())] == [6, 2, 3, 6, 1]


@pytest.mark.forbidden("debug_nans", "debug_infs")
def test_the_sinc_of_an_endless_number_is_zero():
    assert rnp.sinc(np.array([np.inf, -np.inf, 0.0], "float32")).tolist() == [0.0, 0.0, 1.0]
    assert np.isnan(rnp.sinc(np.float32(np.nan)))


@pytest.mark.needs("jit")
def test_the_zeros_of_sinc_have_one_sign():
    x = np.array([-1, -2, -3, -1e9, 1, 2, 3, 1e9, np.inf, -np.inf], "float32")
    for found in (rnp.sinc(x), rb.jit(rnp.sinc)(x)):
        assert np.asarray(found).tobytes() == np.zeros(10, "float32").tobytes()


def test_numbers_and_matrices_are_not_correlated():
    for one, other in ((2.0, v), (v, 2.0), (a, v), (v, a)):
        with pytest.raises(ValueError, match="correlate takes vectors"):
            rnp.correlate(one, other)


def test_what_is_no_array_is_not_complex():
    assert not rnp.iscomplexobj(None)
    assert rnp.isrealobj("text")
    with pytest.raises(TypeError, match="takes a dtype"):
        rnp.isdtype(v, "real floating")


@pytest.mark.forbidden("explicit_x64_dtypes")
@pytest.mark.narrow
def test_a_view_in_64_bits_is_what_the_settings_say():
    pair = rnp.array([1, 2])
    assert pair.view("int64").tolist() == [2**33 + 1]
    override = rb.config.override(explicit_x64_dtypes="warn", enable_x64=False)
    with override, pytest.warns(UserWarning, match="int64"):
        assert pair.view("int64").dtype == "int32"


@pytest.mark.forbidden("numpy_dtype_promotion", "disable_jit")
@pytest.mark.needs("jit")
@pytest.mark.parametrize("number", [1, 1.0, True, 1j, np.float32(1), np.int8(1), np.array(1.0)])
def test_a_number_that_becomes_an_array_by_itself_is_a_transfer(number):
    x = rb.device_put(np.float32(1))
    for make in (rnp.array, rnp.asarray, rnp.complex64):
        with rb.transfer_guard_host_to_device("disallow"), pytest.raises(rb.errors.TransferError):
            make(number)
        with rb.transfer_guard_host_to_device("disallow"):
            assert (x + 2).tolist() == 3.0 and rnp.where(x > 0, 1.0, 2.0).tolist() == 1.0
            rb.jit(lambda x, make=make: x + make(number))(x)


def test_operands_of_two_ranks_are_what_some_functions_are_about():
    v, m = rnp.arange(3.0), rnp.ones((2, 3))
    with rb.numpy_rank_promotion("raise"):
        assert rnp.add.outer(m, v).shape == (2, 3, 3)
        assert rnp.frompyfunc(lambda x, y: x + y, 2, 1).outer(v, m).shape == (3, 2, 3)
        assert not rnp.array_equiv(v, m)
        assert rnp.array_equiv(v, rnp.stack([v, v]))


def test_the_dtype_of_a_result_obeys_strict_promotion():
    with rb.numpy_dtype_promotion("strict"):
        assert rnp.result_type("float32", 1.0) == "float32"
        for given in (("float32", "int32"), ("int32", 1.5)):
            with pytest.raises(TypePromotionError, match="no implicit promotion"):
                rnp.result_type(*given)


@pytest.mark.needs("eval_shape")
def test_an_option_is_no_dict():
    for call in (lambda x: rnp.sum(x, keepdims={}), lambda x: rnp.sort(x, descending={"a": 1})):
        for run in (call, lambda x, call=call: rb.eval_shape(call, x)):
            with pytest.raises(TypeError, match=r"(sum: keepdims|sort: descending) is an option.* no dict"):
                run(np.ones(3, "float32"))
