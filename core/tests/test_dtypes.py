"""Dtypes: names, widths, promotion (as laws of an order), and rows from plugins."""

import warnings
from enum import IntEnum
from functools import partial
from itertools import combinations_with_replacement, product

import ml_dtypes
import numpy as np
import pytest
import rabbet as rb
from rabbet import dtypes, lax
from rabbet.config import config
from rabbet.dtypes import DTypeSpec, DTypeTable, ExtendedDType
from rabbet.errors import NotOfferedError, PluginConflictError, TypePromotionError
from rabbet.program.avals import ShapedArray

NAMES = ["bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64",
         "float16", "float32", "float64", "complex64", "complex128"]  # fmt: skip
NARROW = [name for name in NAMES if not name.endswith("64") or name == "complex64"]
BFLOAT16 = DTypeSpec("bfloat16", ml_dtypes.bfloat16, "bf16", "f", above=("float*",), below=("float32",))
INT4 = DTypeSpec(
    "int4", ml_dtypes.int4, "i4", "i", above=("int*",), bits=4, finfo=lambda: ml_dtypes.iinfo("int4")
)


@pytest.fixture(params=[False, True], ids=["32 bits", "64 bits"])
def wide(request):
    with config.override(enable_x64=request.param):
        yield request.param


# Promotion: laws ----------------------------------------------------------------------------------


@pytest.mark.parametrize("a, b", [*combinations_with_replacement(NAMES, 2)])
def test_promotion_commutes_and_absorbs(a, b, wide):
    joined = dtypes.promote_types(a, b)
    assert joined == dtypes.promote_types(b, a)
    if {a, b} != {"int64", "uint64"}:
        assert joined == dtypes.promote_types(joined, a) == dtypes.promote_types(joined, b)


@pytest.mark.parametrize("names", [*combinations_with_replacement(NARROW, 3)])
def test_promotion_of_three_does_not_depend_on_their_order(names):
    a, b, c = names
    assert dtypes.result_type(a, b, c) == dtypes.result_type(c, a, b) == dtypes.result_type(b, c, a)


@pytest.mark.parametrize("name, scalar", [*product(NAMES, [True, 1, 1.0, 1j])])
def test_a_python_number_never_widens_its_own_kind(name, scalar, wide):
    joined, weak = dtypes.result_type(np.dtype(name), scalar, return_weak_type_flag=True)
    if dtypes.kind_rank(type(scalar)) <= dtypes.kind_rank(name):
        assert (joined, weak) == (np.dtype(name), False)
    else:
        assert dtypes.kind_rank(joined) == dtypes.kind_rank(type(scalar))


# Promotion: corners -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "a, b, joined",
    [
        ("int8", "uint8", "int16"),
        ("int16", "uint16", "int32"),
        ("int32", "float16", "float16"),
        ("uint64", "float16", "float16"),
        ("float16", "complex64", "complex64"),
        ("float64", "complex64", "complex128"),
        ("bool", "uint8", "uint8"),
        ("float32", "float64", "float64"),
    ],
)
def test_joins(a, b, joined, wide):
    assert dtypes.promote_types(a, b) == joined


@pytest.mark.forbidden("numpy_dtype_promotion")
@pytest.mark.narrow
def test_unsigned_and_signed_32_bits_stay_32_bits_wide_unless_64_bits_are_on():
    assert dtypes.promote_types("int32", "uint32") == "int32"
    with config.override(enable_x64=True):
        assert dtypes.promote_types("int32", "uint32") == "int64"


def test_64_bit_integers_of_both_signs_meet_in_a_weak_float_of_64_bits(wide):
    both = np.dtype("int64"), np.dtype("uint64")
    assert dtypes.result_type(*both, return_weak_type_flag=True) == ("float64", True)


@pytest.mark.forbidden("numpy_dtype_promotion")
@pytest.mark.parametrize("name", ["int64", "uint64"])
@pytest.mark.parametrize("number, expected", [(1.0, "float64"), (1j, "complex128")])
def test_integers_of_64_bits_are_not_rounded_to_numbers_of_32(name, number, expected, wide):
    beside_a_number = dtypes.promote(np.dtype(name), number)
    assert beside_a_number == (expected, True)
    again = ShapedArray((), *beside_a_number)
    assert dtypes.promote(again, np.dtype(name)) == dtypes.promote(again, number) == (expected, True)
    assert dtypes.result_type(again) == expected
    # An array of floats decides, as beside other integers.
    narrow = np.dtype("complex64" if number == 1j else "float32")
    assert dtypes.promote(again, narrow) == (narrow, False)


@pytest.mark.narrow
def test_weak_types():
    weak = {name: ShapedArray((), name, True) for name in ("int32", "float32", "float16", "complex64")}
    result = dtypes.promote
    assert result(1) == result(int) == result(weak["int32"]) == ("int32", True)
    assert result(1, 2.0) == result(weak["int32"], weak["float32"]) == ("float32", True)
    assert result(True) == ("bool", False)
    assert result(True, 1) == ("int32", True)
    assert result(weak["float32"], ShapedArray((3,), "float16")) == ("float16", False)
    assert result(weak["float32"], ShapedArray((3,), "int8")) == ("float32", True)
    assert result(weak["float16"], weak["int32"]) == ("float16", True)
    assert result(weak["complex64"], ShapedArray((), "float64")) == ("complex128", False)
    assert result(ShapedArray((), "float32"), weak["float32"]) == ("float32", False)


def test_a_weak_result_type_has_the_width_of_a_python_number(wide):
    bits = 64 if wide else 32
    for name, expected in {"int8": f"int{bits}", "uint8": f"uint{bits}", "float16": f"float{bits}"}.items():
        weak = ShapedArray((), name, True)
        assert dtypes.result_type(weak, return_weak_type_flag=True) == (expected, True)
        assert dtypes.promote(weak) == (name, True)
        assert dtypes.result_type(weak, weak.strong()) == name


# Widths -------------------------------------------------------------------------------------------


def test_python_scalars(wide):
    bits = 64 if wide else 32
    assert [dtypes.scalar_dtype(t) for t in (bool, int, float)] == ["bool", f"int{bits}", f"float{bits}"]
    assert dtypes.canonicalize(complex) == dtypes.canonicalize("complex") == f"complex{2 * bits}"
    assert dtypes.wide_scalars() is wide


def test_numpy_values_narrow_and_explicit_dtypes_do_not(wide):
    value, array = np.float64(1), np.arange(3, dtype="uint64")
    assert dtypes.result_type(value) == ("float64" if wide else "float32")
    assert dtypes.result_type(array) == ("uint64" if wide else "uint32")
    assert dtypes.narrow("complex128") == ("complex128" if wide else "complex64")
    assert dtypes.canonicalize(np.float64) == dtypes.canonicalize("float64") == "float64"
    assert dtypes.result_type(ShapedArray((), "float64"), 1.0) == "float64"


def test_a_python_int_that_does_not_fit_overflows():
    assert dtypes.numpy_scalar(2**31 - 1, "int32") == 2**31 - 1
    assert dtypes.numpy_scalar(-1, "int8").dtype == "int8"
    assert dtypes.numpy_scalar(2**31, "float32") == 2.0**31
    with pytest.raises(OverflowError, match=r"(?s)2147483648 does not fit int32 \(from -.*'int64'"):
        dtypes.numpy_scalar(2**31, "int32")
    with pytest.raises(OverflowError, match="-1 does not fit uint8"):
        dtypes.numpy_scalar(-1, "uint8")
    with pytest.raises(OverflowError, match="'uint64'"):
        dtypes.numpy_scalar(2**63, int)


# Names --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_every_spelling_means_the_same_object(name):
    dtype = dtypes.canonicalize(name)
    for spelling in (
        dtype,
        dtype.type,
        dtype.str,
        dtype.newbyteorder(),
        np.zeros(2, dtype),
        ShapedArray((), name),
    ):
        assert dtypes.canonicalize(spelling) is dtype


def test_names_of_all_kinds():
    assert [dtypes.short_name(n) for n in ("bool", "uint8", "int64", "float16", "complex64")] == [
        "bool", "u8", "i64", "f16", "c64",
    ]  # fmt: skip
    assert [dtypes.mlir_name(n) for n in ("bool", "uint8", "int64", "float16", "complex64")] == [
        "i1", "ui8", "i64", "f16", "complex<f32>",
    ]  # fmt: skip
    assert (dtypes.short_name(dtypes.float0), dtypes.mlir_name(dtypes.float0)) == ("float0", "i1")
    assert dtypes.float32 is np.float32


def test_kinds_and_sizes():
    assert "".join([dtypes.kind(n) for n in ("bool", "int8", "uint8", "float16", "complex64")]) == "biufc"
    assert [dtypes.kind_rank(x) for x in (bool, "uint8", int, "float16", np.complex64)] == [0, 1, 1, 2, 3]
    assert [dtypes.itemsize_bits(n) for n in ("bool", "int16", "complex128")] == [8, 16, 128]
    assert dtypes.scalar_type_of(np.int8(1)) is dtypes.scalar_type_of("uint64") is int
    assert dtypes.scalar_type_of(True) is bool


class Colour(IntEnum):
    RED = 1


@pytest.mark.narrow
def test_a_subclass_of_int_is_a_python_int():
    assert dtypes.result_type(Colour.RED, return_weak_type_flag=True) == ("int32", True)
    assert dtypes.result_type(np.dtype("int8"), Colour.RED) == "int8"


@pytest.mark.parametrize("bad", ["bfloat17", object, "U5", np.dtype("datetime64[s]"), np.longdouble])
def test_unknown_dtypes_are_refused(bad):
    with pytest.raises(TypeError, match=r"(?s)is not known.*known: bool, int8.*rabbet plugins"):
        dtypes.canonicalize(bad)


@pytest.mark.parametrize("bad", [None, [1, 2], 3])
def test_what_is_not_a_dtype_is_refused(bad):
    with pytest.raises(TypeError, match="is not a dtype"):
        dtypes.canonicalize(bad)


def test_a_missing_attribute_is_an_attribute_error():
    assert not hasattr(dtypes, "flaot32")
    with pytest.raises(ValueError, match="at least one"):
        dtypes.result_type()


# Questions ----------------------------------------------------------------------------------------


def test_issubdtype():
    yes = [("int8", np.integer), ("uint8", np.unsignedinteger), ("float16", np.inexact),
           (np.float32, "float32"), ("complex64", np.complexfloating), ("bool", np.bool_),
           ("bool", np.generic), (float, np.floating), (np.floating, np.number),
           (int, np.signedinteger), (np.str_, np.character), (np.character, np.flexible),
           (None, np.floating)]  # fmt: skip
    no = [("int8", np.floating), ("float32", "float64"), (np.number, np.floating), ("bool", np.number),
          ("uint8", np.signedinteger), (np.floating, "float32"), ("float32", dtypes.prng_key),
          ("float32", np.flexible), ("int8", np.character), ("bool", np.str_),
          ("int8", np.object_), (None, "float32")]  # fmt: skip
    assert [pair for pair in yes if not dtypes.issubdtype(*pair)] == []
    assert [pair for pair in no if dtypes.issubdtype(*pair)] == []


@pytest.mark.narrow
def test_none_is_the_default_float():
    assert dtypes.canonicalize_dtype(None) == np.float32
    with config.override(enable_x64=True):
        assert dtypes.canonicalize_dtype(None) == np.float64


@pytest.mark.narrow
def test_a_canonical_dtype_has_32_bits_where_64_are_not_allowed():
    assert dtypes.canonicalize_dtype("float64") == np.float64
    with config.override(explicit_x64_dtypes="warn"), warnings.catch_warnings():
        warnings.simplefilter("error")  # nothing is made of it yet, so nothing is warned of
        assert dtypes.canonicalize_dtype("float64") == np.float32
        assert dtypes.canonicalize_dtype(np.int64) == np.int32
        assert dtypes.canonicalize_dtype("int8") == np.int8
        with config.override(enable_x64=True):
            assert dtypes.canonicalize_dtype("float64") == np.float64


@pytest.mark.narrow
def test_limits():
    assert dtypes.finfo("float32").eps == np.finfo(np.float32).eps
    assert dtypes.finfo(np.zeros(2, "complex64")).dtype == np.float32
    assert dtypes.finfo(1.0).bits == 32
    assert dtypes.iinfo("uint8").max == 255
    with pytest.raises(ValueError, match="iinfo does not describe float32; ask finfo"):
        dtypes.iinfo("float32")
    with pytest.raises(ValueError, match="finfo does not describe bool"):
        dtypes.finfo(bool)


def test_neighbours():
    inexact = {
        "bool": "float32",
        "int8": "float32",
        "int64": "float64",
        "float16": "float16",
        "complex64": "complex64",
    }
    assert {n: str(dtypes.to_inexact(n)) for n in inexact} == inexact
    assert [dtypes.to_complex(n) for n in ("int8", "float16", "float64")] == [
        "complex64",
        "complex64",
        "complex128",
    ]


# Rows from plugins --------------------------------------------------------------------------------


def test_a_row_is_found_when_its_name_is_first_seen():
    asked = []
    table = DTypeTable(find_spec=lambda name: asked.append(name) or {"bfloat16": BFLOAT16}.get(name))
    assert asked == []
    assert table.canonicalize("bfloat16") == np.dtype(ml_dtypes.bfloat16)
    assert table.canonicalize(ml_dtypes.bfloat16) is table.canonicalize("bfloat16")
    assert asked == ["bfloat16"]


def test_a_row_is_found_by_its_numpy_dtype():
    table = DTypeTable(find_spec={"bfloat16": BFLOAT16}.get)
    assert table.canonicalize(np.dtype(ml_dtypes.bfloat16)).name == "bfloat16"
    assert (table.kind("bfloat16"), table.mlir_name("bfloat16"), table.short_name("bfloat16")) == (
        "f",
        "bf16",
        "bf16",
    )


def test_a_row_without_bits_of_its_own_and_one_with():
    table = DTypeTable()
    table.add(BFLOAT16)
    table.add(INT4)
    assert (table.itemsize_bits("bfloat16"), table.itemsize_bits("int4")) == (16, 4)
    assert table.iinfo("int4").max == 7
    assert table.issubdtype("int4", np.signedinteger)


def test_a_row_takes_part_in_promotion(wide):
    table = DTypeTable()
    table.add(BFLOAT16)
    joins = {"float16": "float32", "int64": "bfloat16", "float32": "float32", "complex64": "complex64"}
    assert {n: str(table.promote_types("bfloat16", n)) for n in joins} == joins
    bfloat16 = np.dtype(ml_dtypes.bfloat16)
    assert table.result_type(bfloat16, 1.0, return_weak_type_flag=True) == ("bfloat16", False)


@pytest.mark.forbidden("numpy_dtype_promotion")
def test_a_row_changes_no_promotion_of_others(wide):
    before, after = DTypeTable(), DTypeTable()
    after.add(BFLOAT16)
    after.add(INT4)
    for pair in combinations_with_replacement(NAMES, 2):
        assert before.promote_types(*pair) == after.promote_types(*pair)


def test_dtypes_without_a_common_one():
    table = DTypeTable()
    table.add(INT4)
    assert table.result_type(np.dtype(ml_dtypes.int4), 3) == "int4"
    with pytest.raises(TypePromotionError, match=r"no common dtype for int4, int8.*astype"):
        table.promote_types("int4", "int8")


@pytest.mark.parametrize(
    "spec, message",
    [
        (DTypeSpec("bfloat16", ml_dtypes.bfloat16, "bf16", "q"), "kind 'q'; the kinds are b, i"),
        (
            DTypeSpec("bfloat16", ml_dtypes.bfloat16, "bf16", "f", ("float32",), ("float16",)),
            "in a circle: float16 < ",
        ),
        (DTypeSpec("float32", np.float32, "f32", "f", compute="float64"), "in the table already"),
        (
            DTypeSpec("int4", ml_dtypes.int4, "i4", "i", ("int8", "uint8"), ("int16",)),
            "from int16 to int4|int16, now int4",
        ),
    ],
)
def test_a_wrong_row_is_refused_and_leaves_no_trace(spec, message):
    table = DTypeTable()
    with pytest.raises(PluginConflictError, match=message):
        table.add(spec)
    assert table.promote_types("int8", "uint8") == "int16"
    with pytest.raises(TypeError):
        table.canonicalize("int4")
    table.add(BFLOAT16)


def test_adding_a_row_again_is_harmless():
    table = DTypeTable()
    table.add(BFLOAT16)
    table.add(BFLOAT16)
    with pytest.raises(PluginConflictError):
        table.add(DTypeSpec("bf16", ml_dtypes.bfloat16, "bf16", "f"))


FLOAT8 = DTypeSpec(
    "float8_e4m3fn", ml_dtypes.float8_e4m3fn, "f8E4M3FN", "f", above=("bfloat16",), below=("float32",),
    infinities=False, finfo=lambda: ml_dtypes.finfo("float8_e4m3fn"), compute="float32",
)  # fmt: skip


def test_neighbours_of_other_packages_are_loaded_when_they_are_needed():
    """The place of a row is the same whatever was used before it."""
    rows = {"bfloat16": BFLOAT16, "float8_e4m3fn": FLOAT8}
    fresh, warm = DTypeTable(find_spec=rows.get), DTypeTable(find_spec=rows.get)
    warm.find("bfloat16")
    for table in (fresh, warm):
        table.find("float8_e4m3fn")
        assert table.promote_types("float8_e4m3fn", "bfloat16") == "float8_e4m3fn"
        assert table.promote_types("float8_e4m3fn", "float32") == "float32"


def test_a_neighbour_that_is_not_installed_is_left_out():
    table = DTypeTable(find_spec={"float8_e4m3fn": FLOAT8}.get)
    assert table.promote_types("float8_e4m3fn", "bool") == "float32"
    beside = DTypeTable(find_spec={"float8_e4m3fn": FLOAT8, "bfloat16": BFLOAT16}.get)
    assert beside.promote_types("float8_e4m3fn", "bool") == "float8_e4m3fn"


def test_rows_that_name_each_other_find_their_places():
    low = DTypeSpec("bfloat16", ml_dtypes.bfloat16, "bf16", "f", ("float*",), ("float8_e4m3fn",))
    rows = {"bfloat16": low, "float8_e4m3fn": FLOAT8}
    for first, second in (("bfloat16", "float8_e4m3fn"), ("float8_e4m3fn", "bfloat16")):
        table = DTypeTable(find_spec=rows.get)
        table.find(first)
        table.find(second)
        assert table.promote_types("float8_e4m3fn", "bfloat16") == "float8_e4m3fn"


def test_what_a_row_says_of_its_numbers():
    ends = {name: (dtypes.spec(name).lowest, dtypes.spec(name).highest) for name in NAMES}
    infinity = complex(np.inf, np.inf)
    assert ends["bool"] == (False, True) and ends["uint8"] == (0, 255) and ends["int64"][0] == -(2**63)
    assert ends["float16"] == (-np.inf, np.inf) and ends["complex64"] == (-infinity, infinity)
    assert (FLOAT8.lowest, FLOAT8.highest, FLOAT8.overflow) == (-448.0, 448.0, "nan")
    assert (FLOAT8.smallest, FLOAT8.largest, FLOAT8.storage_bits) == (-448.0, 448.0, 8)
    assert (INT4.lowest, INT4.highest, INT4.storage_bits, INT4.infinities) == (-8, 7, 4, False)
    assert dtypes.spec("float32").overflow == "infinity" and dtypes.spec("float32").negative_zero


def test_a_dtype_without_a_name_in_stablehlo_says_so():
    table = DTypeTable()
    table.add(DTypeSpec("float6_e2m3fn", ml_dtypes.float6_e2m3fn, None, "f", bits=6))
    with pytest.raises(NotOfferedError, match=r"(?s)no compiled program .*float6_e2m3fn.*NumPy"):
        table.mlir_name("float6_e2m3fn")


def test_a_dtype_that_is_stored_as_codes():
    six = partial(DTypeSpec, "float6_e2m3fn", ml_dtypes.float6_e2m3fn, None, bits=6)
    table = DTypeTable()
    half = lambda x: x
    own = partial(DTypeSpec, mlir=None, kind="f", compute="float32")
    for spec, said in (
        (six("f", codes="uint8"), "computes in None"),
        (six("f", codes="uint16", compute="float32"), "integers of 1 bytes"),
        (six("f", codes="int8", compute="float32"), "sign and magnitude"),
        (six("i", codes="uint8", compute="float32"), "kind 'f'"),
        (six("f", codes="uint8", compute="float32", rounding="up"), "rounding='up'"),
        (six("f", codes="uint8", compute="float32", encode=half), "give both"),
        (six("f", encode=half, decode=half), "go with codes"),
        (own("wide", None, codes="int32", encode=half, decode=half), "finfo"),
        (own("bf", ml_dtypes.bfloat16, codes="uint16"), "give encode and"),
    ):
        with pytest.raises(PluginConflictError, match=said):
            table.add(spec)
    table.add(six("f", codes="uint8", compute="float32"))
    assert table.mlir_name("float6_e2m3fn") == "ui8" and table.itemsize_bits("float6_e2m3fn") == 8
    assert table.codes(np.dtype(ml_dtypes.float6_e2m3fn)) == "uint8" and table.codes(np.dtype("int8")) is None


# Extended dtypes ----------------------------------------------------------------------------------


class KeyDType(ExtendedDType):
    type = dtypes.prng_key


def test_extended_dtypes():
    key, same, other = (
        KeyDType("key<fry>", "uint32", (2,)),
        KeyDType("key<fry>", "uint32", (2,)),
        KeyDType("key<rbg>", "uint32", (4,)),
    )
    assert key == same != other
    assert len({key, same, other}) == 2
    assert dtypes.canonicalize(key) is key
    assert (key.itemsize, dtypes.itemsize_bits(key), dtypes.kind(key), dtypes.short_name(key)) == (
        8,
        64,
        "V",
        "key<fry>",
    )
    assert dtypes.issubdtype(key, dtypes.prng_key)
    assert dtypes.issubdtype(key, dtypes.extended)
    assert not dtypes.issubdtype(key, np.number)
    assert dtypes.result_type(ShapedArray((), key), ShapedArray((3,), key)) is key
    with pytest.raises(TypePromotionError, match="key<fry>, float32"):
        dtypes.result_type(ShapedArray((), key), ShapedArray((), "float32"))


@pytest.mark.needs("cpu")
def test_arrays_of_float0_are_joined():
    none = np.zeros(3, dtypes.float0)
    joined = lax.concatenate([none, none], 0)
    assert (joined.dtype, joined.shape) == (dtypes.float0, (6,))


def test_float0_promotes_with_itself_only():
    zero = ShapedArray((2,), dtypes.float0)
    assert dtypes.result_type(zero, zero) == dtypes.float0
    assert dtypes.kind(dtypes.float0) == "V"
    with pytest.raises(TypePromotionError):
        dtypes.result_type(zero, 1.0)


@pytest.mark.parametrize("number", [int, float, complex])
@pytest.mark.narrow
def test_a_conversion_to_a_number_type_is_not_weak(number):
    """So what comes of it does not give way to a narrower dtype."""
    for value in (1, True, np.arange(3, dtype=np.int32), rb.device_put(np.arange(3, dtype=np.int8))):
        made = lax.convert_element_type(value, number)
        assert made.dtype == rb.dtypes.scalar_dtype(number) and not made.weak_type
    whole = lax.convert_element_type(rb.device_put(np.arange(3, dtype=np.int32)), float)
    assert (whole * rb.device_put(np.ones(3, np.float16))).dtype == np.float32


@pytest.mark.narrow
def test_astype_none_is_the_dtype_of_floats():
    assert rb.device_put(np.arange(3, dtype=np.int8)).astype(None).dtype == np.float32
