"""Formats with an ``encode`` and a ``decode`` of their own: fixed point, posits, and elements of extended
dtypes that stand for numbers.
"""

import pickle

import numpy as np
import pytest
import rabbet as rb
from rabbet import dtypes, lax
from rabbet.extend.dtype import DTypeSpec, ExtendedDType
from rabbet.extend.primitive import from_physical, to_physical

pytestmark = pytest.mark.needs("cpu", "numpy")
rnp = pytest.importorskip("rabbet.numpy")

NEAREST_EVEN = lax.RoundingMethod.TO_NEAREST_EVEN
PLACES = {"above": ("float*",), "below": ("float32",), "infinities": False, "negative_zero": False}


def fixed(name, rounded=lambda x: lax.round(x, NEAREST_EVEN), **facts):
    """Eight bits before the point and eight behind it, two's complement."""

    def decode(codes):
        return lax.mul(lax.convert_element_type(codes, "float32"), 1 / 256)

    def encode(x):
        whole = lax.clamp(-32768.0, rounded(lax.mul(x, 256.0)), 32767.0)
        return lax.convert_element_type(lax.select(lax.ne(x, x), lax.full_like(x, 0), whole), "int16")

    facts = {"nan": False, **PLACES, **facts}
    return DTypeSpec(
        name, None, None, "f", codes="int16", compute="float32", decode=decode, encode=encode, **facts
    )


def posit8():
    """Posits of 8 bits with exponents of 2, rounded to the nearest."""

    def value(code):
        if code in (0, 128):
            return np.nan if code else 0.0
        bits = f"{min(code, 256 - code):08b}"[1:]
        run = len(bits) - len(bits.lstrip(bits[0]))
        rest = bits[run + 1 :]
        exponent, fraction = int((rest[:2] + "00")[:2], 2), rest[2:]
        size = 1 + (int(fraction, 2) / 2 ** len(fraction) if fraction else 0)
        found = 2.0 ** (4 * (run - 1 if bits[0] == "1" else -run) + exponent) * size
        return -found if code > 127 else found

    numbers = np.array([value(c) for c in range(256)], np.float32)
    middles = ((numbers[1:127].astype(np.float64) + numbers[2:128]) / 2).astype(np.float32)

    def decode(codes):
        return rnp.asarray(numbers)[codes.astype("int32")]

    def encode(x):
        size = abs(x)
        found = rnp.sum(rnp.expand_dims(size, -1) > rnp.asarray(middles), -1) + 1
        found = rnp.where(size == 0, 0, rnp.where(x < 0, 256 - found, found))
        return rnp.where(x != x, 128, found).astype("uint8")

    return DTypeSpec(
        "posit8_of_tests", None, None, "f", codes="uint8", compute="float32", decode=decode, encode=encode,
        overflow="saturate", rounding="nearest", **PLACES,
    )  # fmt: skip


@pytest.fixture(scope="module")
def q():
    """The name of a fixed-point dtype."""
    dtypes.add(FIXED)
    return FIXED.name


FIXED = fixed("q8_8_of_tests")


@pytest.fixture(scope="module")
def posit():
    """The name of a dtype of posits."""
    spec = posit8()
    dtypes.add(spec)
    return spec.name


def test_fixed_point_computes_compares_sorts_and_prints(q):
    x = rnp.array([1.5, -2.25, 100.0], q)
    assert repr(x) == f"Array([  1.5 ,  -2.25, 100.  ], dtype={q})" and x.tolist() == [1.5, -2.25, 100.0]
    assert (x + x).tolist() == [3.0, -4.5, 127.99609375] and (x * x).tolist()[1] == 5.0625
    assert (x < 0.5).tolist() == [False, True, False] and (x == x).all() and bool(x[0])
    assert rnp.sort(x).tolist() == [-2.25, 1.5, 100.0] and rnp.argmax(x) == 2
    assert float(x[0]) == x[0].item() == 1.5 and f"{x[1]:.3f}" == "-2.250" and str(x[0]) == "1.5"
    assert x.sum().item() == 99.25 and rnp.exp(x).tolist()[:2] == [1147 / 256, 27 / 256]
    assert len(rb.make_jaxpr(lambda x: x + 2.0)(x).jaxpr.equations) == 1


@pytest.mark.forbidden("numpy_dtype_promotion")
def test_conversions_go_by_the_programs(q):
    x = rnp.array([1.5, -2.25, 100.0], q)
    assert np.asarray(x, np.float32).tolist() == x.astype("float32").tolist() == [1.5, -2.25, 100.0]
    assert rnp.asarray(np.array([1.2, 400.0, np.nan]), dtype=q).tolist() == [307 / 256, 127.99609375, 0.0]
    assert rnp.arange(4, dtype=q).tolist() == [0, 1, 2, 3] and rnp.full(2, 0.3, q).tolist() == [77 / 256] * 2
    assert x.view("int16").tolist() == [384, -576, 25600] and (x + np.float32(1)).dtype == "float32"
    assert (
        np.asarray(x).dtype == dtypes.canonicalize(q) and pickle.loads(pickle.dumps(x)).tolist() == x.tolist()
    )
    back = rnp.asarray(np.asarray(x))
    assert back.dtype == x.dtype and back.tolist() == x.tolist()
    info = dtypes.finfo(q)
    assert (info.max, info.min, info.eps, info.tiny) == (127.99609375, -128.0, 1 / 256, 1 / 256)


@pytest.mark.needs("jit", "grad", "vmap")
def test_fixed_point_goes_through_transformations(q):
    x = rnp.array([1.5, -2.25, 100.0], q)
    text = rb.jit(lambda x: x + x).lower(x).as_text()
    assert len(text.splitlines()) < 60
    assert rb.grad(lambda x: (x * x).sum())(x).tolist() == [3.0, -4.5, 127.99609375]
    assert rb.vmap(lambda a: a * 3)(x).tolist() == [4.5, -6.75, 127.99609375]
    scan = rb.jit(lambda x: lax.scan(lambda c, y: (c + y, c), x[0], x))
    assert [y.tolist() for y in scan(x)] == [100.75, [1.5, 3.0, 0.75]]


def test_nan_is_looked_for_in_the_numbers_of_a_format(q, posit):
    with rb.config.override(debug_nans=True, debug_infs=True):
        assert (rnp.array([1.5, 100.0], q) * 0.5).tolist() == [0.75, 50.0]
        x = rnp.array([1.5, -0.0], posit)
        assert (x + x).tolist() == [3.0, 0.0]
        with pytest.raises(FloatingPointError, match="a NaN"):
            x / x


@pytest.mark.needs("jit", "grad", "vmap")
def test_the_kit_tries_fixed_point_in_every_operation(q):
    from rabbet.testing import check_dtype

    check_dtype(q)


@pytest.mark.needs("jit", "grad", "vmap")
def test_the_kit_finds_a_wrong_fact():
    from rabbet.testing import LawError, check_dtype

    for facts, said in (
        ({"rounded": lax.floor}, "says rounding='nearest-even'"),
        ({"rounded": lambda x: x * 0.5}, "cannot hold its smallest"),
        ({"nan": True}, "says nan=True"),
        ({"overflow": "infinity"}, "says overflow='infinity'"),
    ):
        spec = fixed(f"wrong_{said[5:8]}_of_tests".replace("=", "").replace(" ", ""), **facts)
        dtypes.add(spec)
        with pytest.raises(LawError, match=said):
            check_dtype(spec.name)


@pytest.mark.needs("jit", "grad", "vmap")
def test_posits_compute(posit):
    from rabbet.testing.kit import check_facts

    check_facts(dtypes.find(posit))
    x = rnp.array([1.5, -2.25, 100.0, 1e9, 1e-12, np.nan], posit)
    assert x.tolist()[:5] == [1.5, -2.25, 96.0, 2.0**24, 2.0**-24] and np.isnan(x.tolist()[5])
    assert (x[:2] * x[:2]).tolist() == [2.25, 5.0] and rnp.sort(x[:4]).tolist() == [-2.25, 1.5, 96.0, 2.0**24]
    assert rb.jit(rb.grad(lambda x: (x * x).sum()))(x[:2]).tolist() == [3.0, -4.5]


def test_what_encode_returns_is_looked_at():
    spec = DTypeSpec(
        "careless_of_tests", None, None, "f", codes="int16", compute="float32", **PLACES, nan=False,
        decode=lambda codes: lax.convert_element_type(codes, "float32"), encode=lambda x: x,
    )  # fmt: skip
    dtypes.add(spec)
    with pytest.raises(TypeError, match=r"encode of the dtype 'careless_of_tests' \(.*returned f32\[2\]"):
        lax.convert_element_type(rnp.ones(2), spec.name)


class Money(ExtendedDType):
    type = dtypes.extended

    def encode(self, numbers):
        return lax.convert_element_type(lax.round(lax.mul(numbers, 100.0), NEAREST_EVEN), "int32")

    def decode(self, stored):
        return lax.div(lax.convert_element_type(stored, "float32"), 100.0)


class Bare(ExtendedDType):
    type = dtypes.extended


def test_elements_of_one_number_are_compared_and_made_of_numbers():
    euro = Money("euro", "int32")
    x = rnp.array([1.5, 2.25], euro)
    assert to_physical(x).tolist() == [150, 225] and x.tolist() == [1.5, 2.25] and float(x[0]) == 1.5
    assert (x == x[0]).tolist() == [True, False] and (x != x).tolist() == [False, False]
    assert x.astype("float32").tolist() == [1.5, 2.25] and "1.5 , 2.25" in repr(x)


@pytest.mark.forbidden("enable_x64")
def test_elements_without_a_meaning_are_compared_and_say_what_they_lack():
    bare = Bare("bare", "int32")
    x = from_physical(rnp.array([256, 640]), dtype=bare)
    assert (x == x[::-1]).tolist() == [False, False] and (x == x).tolist() == [True, True]
    with pytest.raises(TypeError, match="without encode and decode"):
        rnp.array([1.5], bare)
