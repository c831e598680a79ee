"""The formats: their facts, conversions of every bit pattern, promotion, and core's rows in each of them."""

from importlib.util import find_spec

import ml_dtypes
import numpy as np
import pytest
import rabbet_float8
from rabbet import dtypes, lax
from rabbet.testing import LawError, check_dtype, kit
from rabbet.testing.draws import device_array

SPECS = [getattr(rabbet_float8, name) for name in rabbet_float8.__all__]
NAMES = [spec.name for spec in SPECS]
# In a format without zero and sign most sums are NaN.
APART = {"float8_e8m0fnu": ("convert_element_type-int32", "reduce_sum-(1,)")}


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: spec.name)
def test_a_row_says_what_its_numpy_dtype_does(spec):
    assert dtypes.spec(spec.name) is spec
    assert spec.dtype == np.dtype(getattr(ml_dtypes, spec.name))
    kit.check_facts(spec)


def test_a_false_fact_is_found():
    import dataclasses

    false = dataclasses.replace(rabbet_float8.FLOAT8_E4M3FN, infinities=True, overflow="infinity")
    with pytest.raises(LawError, match="float8_e4m3fn says infinities=True"):
        kit.check_facts(false)


@pytest.mark.parametrize("name", NAMES)
def test_every_number_converts_both_ways_without_change(name):
    spec = dtypes.spec(name)
    codes = np.arange(2 ** (spec.bits or 8), dtype=np.uint8)
    host = codes.view(spec.dtype)
    wide = host.astype(np.float32)
    there = np.asarray(lax.convert_element_type(device_array(host), "float32"))
    assert np.array_equal(there, wide, equal_nan=True)
    back = np.asarray(lax.convert_element_type(device_array(wide), name))
    numbers = ~np.isnan(wide)
    assert back[numbers].tobytes() == host[numbers].tobytes()


@pytest.mark.parametrize("name", NAMES)
def test_conversions_round_to_nearest_even_and_overflow_as_the_format_says(name):
    spec = dtypes.spec(name)
    rng = np.random.default_rng(0)
    x = (rng.normal(size=500) * np.exp(rng.uniform(-8, 6, 500))).astype(np.float32)
    x = np.abs(x) if not spec.zero else x
    wanted = x.astype(spec.dtype).astype(np.float32)
    got = np.asarray(lax.convert_element_type(device_array(x), name)).astype(np.float32)
    assert np.array_equal(got, wanted, equal_nan=True)
    if 4 * spec.largest > float(np.finfo(np.float32).max):
        return
    far = lax.convert_element_type(np.float32(4 * spec.largest), name)
    beyond = float(lax.convert_element_type(far, "float32"))
    shown = {"infinity": np.isinf(beyond), "nan": np.isnan(beyond), "saturate": beyond == spec.largest}
    assert shown[spec.overflow]


@pytest.mark.forbidden("numpy_dtype_promotion")
@pytest.mark.parametrize("name", NAMES)
def test_python_numbers_and_integers_give_way_and_floats_do_not_promote(name):
    for other in (float, int, "bool", "int32", "uint8"):
        assert dtypes.promote_types(name, other) == dtypes.canonicalize(name)
    for other in ("float16", "float32", "complex64", *{"float8_e4m3fn", "float8_e5m2"} - {name}):
        with pytest.raises(dtypes.TypePromotionError, match=r"convert one explicitly: x.astype"):
            dtypes.promote_types(name, other)


FIRST = ["float8_e4m3fn", "float6_e2m3fn"]  # one that compilers know, one that they do not
REST = [pytest.param(name, marks=pytest.mark.exhaustive) for name in NAMES if name not in FIRST]


@pytest.mark.rows(2)
@pytest.mark.parametrize("name", [*FIRST, *REST])
def test_core_computes_in_it(name):
    check_dtype(name, apart=APART.get(name, ()))


def test_numpys_library_starts_at_numbers_that_the_format_has():
    import rabbet
    import rabbet.numpy as rnp

    x = rnp.array([1.0, -3.0, 2.0], "float8_e4m3fn")
    nothing = rnp.array([rnp.nan, 2.0, rnp.nan], "float8_e4m3fn")
    assert (float(rnp.max(x)), int(rnp.argmax(x)), float(rnp.nanmax(nothing))) == (2.0, 2, 2.0)
    assert rnp.isinf(rnp.array([6.0, 1.0], "float4_e2m1fn")).tolist() == [False, False]
    assert rnp.nan_to_num(nothing).tolist() == [0.0, 2.0, 0.0]
    assert rnp.float8_e4m3fn(2.0).dtype == "float8_e4m3fn" and rnp.finfo("float8_e5m2").max == 57344
    nn = pytest.importorskip("rabbet.nn")
    assert rabbet.nn is nn
    assert float(nn.softmax(rnp.ones(4, "float8_e4m3fn"))[0]) == 0.25
    masked = nn.softmax(rnp.ones(4, "float8_e4m3fn"), where=rnp.array([True, False, True, False]))
    assert masked.tolist() == [0.5, 0.0, 0.5, 0.0]


@pytest.mark.parametrize("name, mantissa", [("float6_e2m3fn", 3), ("float6_e3m2fn", 2)])
def test_six_bits_round_once_from_each_float(name, mantissa):
    """To the nearest, of two to the even one; from float64 too, without a stop at float32."""
    spec = dtypes.spec(name)
    positive = np.arange(32, dtype=np.uint8).view(spec.dtype).astype(np.float64)
    between = (positive[1:] + positive[:-1]) / 2
    even = np.where(np.arange(31) % 2, np.arange(1, 32), np.arange(31)).astype(np.uint8)
    more = ["bfloat16"] if find_spec("rabbet_bfloat16") else []
    for source in ("float16", "float32", "float64", *more):
        middle = between.astype(ml_dtypes.bfloat16 if source == "bfloat16" else source)
        least = 2.0 ** -(52 if source == "float64" else 6)
        for x, wanted in (
            (middle, even),
            (middle * (1 + least), np.arange(1, 32)),
            (middle * (1 - least), np.arange(31)),
        ):
            for sign, bit in ((1, 0), (-1, 32)):
                there = lax.convert_element_type(device_array((sign * x).astype(middle.dtype)), name)
                assert np.asarray(there).view(np.uint8).tolist() == (wanted + bit).tolist()
    odd = np.array([np.nan, np.inf, -np.inf, -0.0, 0.0], np.float32)
    there = np.asarray(lax.convert_element_type(device_array(odd), name))
    assert there.tobytes() == odd.astype(spec.dtype).tobytes()
    assert there.astype(np.float32)[1] == spec.largest and mantissa == ml_dtypes.finfo(name).nmant


def test_six_bits_in_programs_with_bodies_and_their_bits():
    import pickle

    import rabbet.numpy as rnp

    name = "float6_e3m2fn"
    x = rnp.array([1.0, 1.25, -28.0, 0.0625], name)
    total, products = lax.scan(lambda c, y: (c + y, c * y), x[0], x)
    assert float(total) == -24.0 and products.tolist() == [1.0, 2.5, -28.0, -1.5] and products.dtype == name
    assert lax.while_loop(lambda y: y[0] < 3, lambda y: y + 1, x).tolist() == [3.0, 3.0, -28.0, 2.0]
    assert lax.cond(True, lambda y: -y, lambda y: y, x).tolist() == [-1.0, -1.25, 28.0, -0.0625]
    assert pickle.loads(pickle.dumps(x)).tolist() == x.tolist() and np.asarray(x).dtype == name
    codes = lax.bitcast_convert_type(x, "uint8")
    assert codes.tolist() == np.asarray(x).view(np.uint8).tolist()
    assert lax.bitcast_convert_type(codes, name).tolist() == x.tolist()
    assert rnp.zeros(2, name).tolist() == [0, 0] and x.nbytes == 4
    with pytest.raises(BufferError, match="float6_e3m2fn has no DLPack form"):
        np.from_dlpack(x)


def test_products_of_two_formats_and_their_derivatives():
    from rabbet.testing.driver import vjp

    x, w = np.float32([[1, 2], [3, 4]]), np.float32([[0.5, -1], [1, 2]])
    a, b = device_array(x.astype(ml_dtypes.float8_e4m3fn)), device_array(w.astype(ml_dtypes.float8_e5m2))
    numbers = (((1,), (0,)), ((), ()))

    def product(a, b):
        return (lax.dot_general(a, b, numbers, preferred_element_type="float32"),)

    (out,), pull = vjp(product, a, b)
    assert np.asarray(out).tolist() == (x @ w).tolist()
    to_a, to_b = pull((device_array(np.ones((2, 2), np.float32)),))
    assert (to_a.dtype, to_b.dtype) == (a.dtype, b.dtype)
    assert np.asarray(to_a).astype(np.float32).tolist() == (np.ones((2, 2)) @ w.T).tolist()
    assert np.asarray(to_b).astype(np.float32).tolist() == (x.T @ np.ones((2, 2))).tolist()


@pytest.mark.needs("numpy", "jit")
@pytest.mark.parametrize("times", [1, 200])  # few elements, and more than are reduced at once
def test_places_of_the_smallest_power_of_two(times):
    """It is below the normal numbers of single precision; of NaN the first place is returned."""
    import rabbet as rb
    import rabbet.numpy as rnp

    for codes, least, most in (((1, 1, 0, 2), 2, 3), ((5, 0, 0, 254), 1, 3), ((3, 255, 0), 1, 1)):
        x = rnp.asarray(np.array(codes * times, "uint8").view(ml_dtypes.float8_e8m0fnu))
        assert [int(x.argmin()), int(rb.jit(rnp.argmin)(x)), int(rnp.argmax(x))] == [least, least, most]
