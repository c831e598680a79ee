"""Abstract values: equal is identical, and what is no shape is refused."""

import copy
import pickle
import threading

import ml_dtypes  # noqa: F401 - so that NumPy knows the names
import numpy as np
import pytest
import rabbet as rb
from rabbet import dtypes, lax, typeof
from rabbet.dtypes import ExtendedDType
from rabbet.program.avals import ShapedArray, ShapeDtypeStruct

KEY = ExtendedDType("key<toy>", np.dtype("uint32"), (2,))


def test_equal_avals_are_one_object():
    aval = ShapedArray((2, 3), np.dtype("float32"))
    assert ShapedArray((2, 3), "float32") is aval
    assert ShapedArray([2, 3], np.float32) is aval
    assert ShapedArray((np.int64(2), 3), "f4") is aval
    assert ShapedArray((2, 3), "float32", False) is aval
    assert ShapedArray((2, 3), "float32", True) is not aval
    assert ShapedArray((3, 2), "float32") is not aval
    assert ShapedArray((2, 3), "float64") is not aval


def test_a_bool_dimension_is_the_same_shape_as_its_number():
    assert ShapedArray((True,), "int32") is ShapedArray((1,), "int32")
    assert type(ShapedArray((True,), "int32").shape[0]) is int


def test_interning_survives_pickling_copying_and_threads():
    aval = ShapedArray((4,), "int8", True)
    assert pickle.loads(pickle.dumps(aval)) is aval
    assert copy.copy(aval) is aval
    assert copy.deepcopy([aval])[0] is aval
    made = []
    threads = [
        threading.Thread(target=lambda: made.append(ShapedArray((7, 7, 7), "int16"))) for _ in range(8)
    ]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len({id(a) for a in made}) == 1


def test_what_an_aval_tells():
    aval = ShapedArray((2, 3), "float32")
    assert (aval.ndim, aval.size, len(aval), aval.mlir) == (2, 6, 2, "tensor<2x3xf32>")
    assert aval.str_short() == "f32[2,3]"
    assert repr(aval) == "ShapedArray(float32[2,3])"
    assert repr(ShapedArray((), "int32", True)) == "ShapedArray(int32[], weak_type=True)"
    assert str(aval) == "float32[2,3]" and str(ShapedArray((), "int32", True)) == "~int32[]"
    assert ShapedArray((), "bool").mlir == "tensor<i1>"
    assert ShapedArray((0, 5), "complex64").mlir == "tensor<0x5xcomplex<f32>>"
    assert ShapedArray((3,), "uint8").mlir == "tensor<3xui8>"
    assert ShapedArray((), "float64").size == 1


def test_update_and_strong():
    weak = ShapedArray((2,), "float32", True)
    assert weak.strong() is ShapedArray((2,), "float32")
    assert weak.strong().strong() is weak.strong()
    assert weak.update(shape=(3,)) is ShapedArray((3,), "float32", True)
    assert weak.update(dtype="int32", weak_type=False) is ShapedArray((2,), "int32")
    assert weak.scalar is ShapedArray((), "float32", True)


def test_an_extended_dtype_is_stored_with_further_dimensions():
    aval = ShapedArray((5,), KEY)
    assert aval.is_extended
    assert aval.physical is ShapedArray((5, 2), "uint32")
    assert aval.mlir == "tensor<5x2xui32>"
    assert aval.shape == (5,) and aval.size == 5


def test_a_scalar_has_no_length():
    with pytest.raises(TypeError, match="without dimensions"):
        len(ShapedArray((), "int32"))


@pytest.mark.parametrize("shape", [(2, -1), (-3,)])
def test_negative_dimensions_are_refused(shape):
    with pytest.raises(ValueError, match=r"a dimension cannot be negative, got -[13]"):
        ShapedArray(shape, "float32")


@pytest.mark.parametrize("size", [2.0, "2", None, 1.5])
def test_dimensions_are_ints(size):
    with pytest.raises(TypeError, match=rf"a shape is a tuple of ints, got the dimension {size!r}"):
        ShapedArray((3, 4171, size), "float32")


@pytest.mark.parametrize("make", [lambda s: ShapeDtypeStruct(s, "float32"), lambda s: lax.full(s, 1.0)])
def test_a_float_equal_to_a_known_dimension_is_still_refused(make):
    make((2, 2))
    with pytest.raises(TypeError, match=r"2\.0"):
        make((2, 2.0))


@pytest.mark.parametrize("name", ["float13", "flaot32", "tensor"])
def test_an_unknown_dtype_is_named(name):
    with pytest.raises(TypeError, match=name):
        ShapedArray((), name)


def test_attributes_are_a_closed_list():
    aval = ShapedArray((1,), "int32")
    with pytest.raises(AttributeError, match="'ShapedArray' object has no attribute 'sharding_of'"):
        aval.sharding_of  # noqa: B018


# ------------------------------------------------------------------------------------------------- typeof
@pytest.mark.parametrize(
    ("value", "short", "weak"),
    [(True, "bool[]", False), (1, "i32[]", True), (1.0, "f32[]", True), (1j, "c64[]", True),
     (np.float32(1), "f32[]", False), (np.float64(1), "f32[]", False), (np.arange(3), "i32[3]", False),
     (np.ones((2, 1), np.float16), "f16[2,1]", False), (np.bool_(True), "bool[]", False)],
)  # fmt: skip
@pytest.mark.narrow
def test_the_type_of_scalars_and_numpy_values(value, short, weak):
    assert typeof(value).str_short() == short
    assert typeof(value).weak_type is weak


@pytest.mark.narrow
def test_with_x64_nothing_is_narrowed():
    with rb.enable_x64(True):
        assert typeof(1).str_short() == "i64[]"
        assert typeof(1.0).str_short() == "f64[]"
        assert typeof(np.arange(3)).str_short() == "i64[3]"
    assert typeof(1).str_short() == "i32[]"


@pytest.mark.parametrize("value", ["text", None, [1, 2], object(), {"a": 1}])
def test_what_is_no_array_is_refused_by_name(value):
    with pytest.raises(TypeError, match=rf"{type(value).__name__} is not an array"):
        typeof(value)


def test_long_values_are_shortened_in_messages():
    with pytest.raises(TypeError) as caught:
        typeof(["x" * 1000])
    assert len(str(caught.value)) < 200


@pytest.mark.narrow
def test_the_type_of_an_int_subclass_is_that_of_its_base():
    class Small(int):
        pass

    assert typeof(Small(3)) is typeof(3)


# --------------------------------------------------------------------------------------- ShapeDtypeStruct
def test_shape_dtype_struct():
    one, two = ShapeDtypeStruct((2, 3), "float32"), ShapeDtypeStruct([2, 3], np.float32)
    assert one == two and hash(one) == hash(two)
    assert one != ShapeDtypeStruct((2, 3), "float64")
    assert (one.shape, one.ndim, one.size, len(one), one.dtype) == ((2, 3), 2, 6, 2, np.float32)
    assert repr(one) == "ShapeDtypeStruct(shape=(2, 3), dtype=float32)"
    assert typeof(one) is ShapedArray((2, 3), "float32")
    assert pickle.loads(pickle.dumps(one)) == one


def test_shape_dtype_struct_keeps_an_explicit_width():
    assert ShapeDtypeStruct((), "float64").dtype == np.float64
    assert ShapeDtypeStruct((), KEY).dtype is KEY


def test_shape_dtype_struct_needs_a_dtype():
    with pytest.raises(ValueError, match="needs a dtype"):
        ShapeDtypeStruct((2,), None)


def test_every_core_dtype_has_an_aval():
    for name in ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16",
                 "float32", "float64", "complex64", "complex128"):  # fmt: skip
        aval = ShapedArray((1,), name)
        assert aval.dtype == np.dtype(name)
        assert dtypes.mlir_name(aval.dtype) in aval.mlir


def test_a_sharding_is_one_or_stands_for_one():
    for wrong in ("x", (1,), object()):
        with pytest.raises(ValueError, match="sharding must be a Sharding, a PartitionSpec or a Format, got"):
            ShapeDtypeStruct((2,), "float32", sharding=wrong)
    here = rb.device_put(1.0).sharding
    assert ShapeDtypeStruct((2,), "float32", sharding=here).sharding is here
