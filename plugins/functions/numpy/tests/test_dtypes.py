"""Dtypes and weak types: what results have, dtype objects, explicit 64 bits, conversion."""

import pickle

import numpy as np
import pytest
import rabbet as rb
import rabbet.numpy as rnp

F32 = np.ones(2, "f4")
I32 = np.ones(2, "i4")
I8 = np.ones(2, "i1")

RESULTS = [
    (lambda: rnp.asarray(1), "int32", True),
    (lambda: rnp.asarray(1.5), "float32", True),
    (lambda: rnp.asarray(True), "bool", False),
    (lambda: rnp.asarray([1, 2.0]), "float32", False),
    (lambda: rnp.asarray(np.float64(1)), "float32", False),
    (lambda: rnp.asarray(np.arange(3)), "int32", False),
    (lambda: rnp.asarray(1, "float64"), "float64", False),
    (lambda: rnp.asarray(np.float64(0.1), "float64"), "float64", False),
    (lambda: rnp.array([np.int8(1), 2]), "int8", False),
    (lambda: rnp.array([]), "float32", False),
    (lambda: rnp.zeros(2, int), "int32", False),
    (lambda: rnp.full(2, 1.5), "float32", True),
    (lambda: rnp.full(2, 1.5, "float64"), "float64", False),
    (lambda: rnp.add(I8, 1), "int8", False),
    (lambda: rnp.add(I8, 1.5), "float32", True),
    (lambda: rnp.add(1, 2), "int32", True),
    (lambda: rnp.add(I32, F32), "float32", False),
    (lambda: rnp.sin(I8), "float32", False),
    (lambda: rnp.sin(1), "float32", True),
    (lambda: rnp.divide(I32, 2), "float32", False),
    (lambda: rnp.sum(I8), "int32", False),
    (lambda: rnp.sum(I32 > 0), "int32", False),
    (lambda: rnp.sum(rnp.asarray(1.0)), "float32", False),
    (lambda: rnp.mean(I8), "float32", False),
    (lambda: rnp.mean(F32, dtype="float16"), "float16", False),
    (lambda: rnp.argmax(F32), "int32", False),
    (lambda: rnp.where(True, 1.0, 2), "float32", True),
    (lambda: rnp.where(I32 > 0, I8, 1), "int8", False),
    (lambda: rnp.power(I32, 2), "int32", False),
    (lambda: rnp.isnan(F32), "bool", False),
    (lambda: rnp.abs(F32 * 1j), "float32", False),
    (lambda: rnp.concatenate([I8, F32]), "float32", False),
    (lambda: rnp.zeros_like(rnp.asarray(1.0)), "float32", True),
    (lambda: rnp.arange(3), "int32", False),
    (lambda: rnp.arange(3.0), "float32", False),
    (lambda: rnp.eye(2), "float32", False),
    (lambda: rnp.linspace(0, 1, 3), "float32", False),
    (lambda: rnp.cumsum(I8), "int8", False),
    (lambda: rnp.dot(I8, I8), "int8", False),
    (lambda: rnp.logical_not(I8), "bool", False),
    (lambda: rnp.maximum(I8, 2), "int8", False),
    (lambda: rnp.clip(I8, 0, 1), "int8", False),
]


@pytest.mark.parametrize("number", range(len(RESULTS)))
@pytest.mark.narrow
def test_dtype_and_weakness(number):
    call, dtype, weak = RESULTS[number]
    found = call()
    assert (found.dtype.name, found.weak_type) == (dtype, weak)


@pytest.mark.forbidden("explicit_x64_dtypes")
def test_explicit_64_bits_are_kept_to_the_last_digit():
    assert rnp.asarray(0.1, "float64").item() == 0.1
    assert rnp.full((), 0.1, "float64").item() == 0.1
    assert rnp.asarray(np.array([0.1]), dtype=rnp.float64).tolist() == [0.1]
    assert rnp.asarray(2**40, "int64").item() == 2**40
    assert rnp.arange(2**40, 2**40 + 2, dtype="int64").tolist() == [2**40, 2**40 + 1]
    assert rnp.sum(rnp.asarray([0.1, 0.2], "float64")).item() == 0.1 + 0.2
    assert rnp.zeros(2, "float64").dtype == np.float64


@pytest.mark.forbidden("explicit_x64_dtypes")
@pytest.mark.narrow
def test_numbers_beside_64_bit_arrays_keep_their_digits():
    x, i = rnp.zeros(2, "float64"), rnp.zeros(2, "int64")
    mask = rnp.array([True, False])
    assert rnp.where(mask, 0.1, x).tolist() == [0.1, 0.0]
    assert rnp.clip(x, 0.1, 1).tolist() == [0.1, 0.1]
    assert rnp.add(x[None], 0.1).tolist() == [[0.1, 0.1]]
    assert rnp.where(mask, 2**40, i).tolist() == [2**40, 0]
    assert rnp.where(mask, 0.1, rnp.zeros(2)).dtype == np.float32


@pytest.mark.narrow
def test_numpy_values_are_narrowed_unless_64_bits_are_on():
    assert rnp.asarray(np.ones(2)).dtype == np.float32
    with rb.config.override(enable_x64=True):
        assert rnp.asarray(np.ones(2)).dtype == np.float64
        assert rnp.zeros(2).dtype == np.float64
        assert rnp.arange(2).dtype == np.int64
        assert rnp.int_ == rnp.int64


def test_places_and_counts_keep_to_the_elements_where_64_bits_are_on():
    """As in JAX: 32 bits are enough for places in a line, and counts are as wide as what is counted."""
    x = np.float32([1, 2, 4])
    with rb.config.override(enable_x64=True):
        for found in rnp.searchsorted(x, x), rnp.digitize(x, x), rnp.argpartition(x, 1):
            assert found.dtype == np.int32
        for found in rnp.diag_indices(2) + rnp.tril_indices(2) + rnp.triu_indices(2):
            assert found.dtype == np.int64
        for elements in x, x.astype("int32"), x > 1:
            assert rnp.histogram(elements)[0].dtype == np.float32
        assert rnp.histogram2d(x, x)[0].dtype == np.int64
        assert rnp.histogram2d(x, x, density=True)[0].dtype == np.float32
        assert rnp.histogram2d(x, x, weights=x.astype("float16"))[0].dtype == np.float32


def test_numbers_beside_narrow_arrays_where_64_bits_are_on():
    """A number that is an argument of a program is 64 bits wide there, and the array stays what it is."""
    x = np.float32([1, 2, 4])
    with rb.config.override(enable_x64=True):
        assert rnp.add.at(rnp.zeros(3, "int32"), [0], 3, inplace=False).dtype == np.int32
        slope, _ = rnp.polyfit(x, 3 * x, 1)
        assert slope.dtype == np.float32
        np.testing.assert_allclose(slope, 3, rtol=1e-5)
        found = rnp.linalg.lstsq(np.stack([x, x * x], 1), x, 1e-6)[0]
        assert found.dtype == np.float32
        np.testing.assert_allclose(found, [1, 0], atol=1e-5)
        assert int(rnp.linalg.matrix_rank(rnp.eye(3, dtype="float32"), 1e-3)) == 3


@pytest.mark.forbidden("numpy_dtype_promotion")
def test_dtypes_of_jax_where_64_bits_are_on():
    z, n = np.array([1, 2j], "c8"), np.array([1, 3, 7], "i4")
    with rb.config.override(enable_x64=True):
        assert rnp.argmax(z).dtype == rnp.argmin(z, axis=0).dtype == np.int64
        assert rnp.angle(n).dtype == rnp.angle(n > 2, deg=True).dtype == np.float64
        assert rnp.rint(n).dtype == rnp.rint(n > 2).dtype == np.float64
        assert rnp.gradient(n).dtype == np.float32
        assert rnp.gradient(n, 2.0).dtype == np.float64


@pytest.mark.forbidden("numpy_dtype_promotion")
def test_gradient_is_as_exact_as_its_distances():
    x = np.array([1, 3, 7], "f2")
    assert rnp.gradient(x, 2.0).dtype == np.float16
    assert rnp.gradient(x, np.float32(2)).dtype == np.float32
    # Between 2048 and 4096 a float16 counts by twos.
    found = rnp.gradient(x, np.array([2048, 2049, 2051], "f4"))
    assert found.dtype == np.float32 and found.tolist() == [2.0, 2.0, 2.0]


@pytest.mark.narrow
def test_dtype_objects_are_dtypes_and_functions():
    assert rnp.float32 == np.float32 == rnp.dtype("float32")
    assert rnp.zeros(2, rnp.int8).dtype == rnp.int8
    assert np.dtype(rnp.uint16) == np.uint16
    assert rnp.float32 in {np.float32} and np.int32 in {rnp.int32}
    assert {rnp.float32: 1}[rnp.float32] == 1
    assert rnp.float32 != rnp.float16
    made = rnp.float32(2)
    assert made.dtype == np.float32 and made.shape == () and not made.weak_type
    assert rnp.int8([1, 2]).tolist() == [1, 2]
    assert rnp.bool_(3).item() is True
    assert pickle.loads(pickle.dumps(rnp.float32)) is rnp.float32
    assert repr(rnp.float32) == "rabbet.numpy.float32"
    assert rnp.int_ == rnp.int32 and rnp.float_ == rnp.float32


@pytest.mark.forbidden("numpy_dtype_promotion")
@pytest.mark.needs("bfloat16")
def test_dtypes_of_plugins():
    x = rnp.bfloat16(1.5)
    assert x.dtype.name == "bfloat16"
    assert rnp.sum(rnp.ones(3, rnp.bfloat16)).dtype == rnp.bfloat16
    assert rnp.add(rnp.ones(2, "bfloat16"), np.float16(1)).dtype == np.float32
    assert float(rnp.finfo(rnp.bfloat16).eps) == 2**-7


def test_half_precision_sums_are_kept_in_single_precision():
    x = rnp.full(4096, 1.0, "float16")
    assert rnp.sum(x).item() == 4096
    assert rnp.mean(rnp.full(70000, 2.0, "float16")).item() == 2


@pytest.mark.forbidden("numpy_dtype_promotion")
@pytest.mark.narrow
def test_questions():
    assert rnp.issubdtype(rnp.float32, rnp.floating)
    assert not rnp.issubdtype("int32", rnp.inexact)
    assert rnp.can_cast("int8", "int32") and not rnp.can_cast("float32", "int32")
    assert rnp.isdtype(rnp.int8, "integral") and rnp.isdtype("float32", ("bool", "real floating"))
    assert rnp.result_type(I32, 1.5) == np.float32
    assert rnp.promote_types("int8", "uint8") == np.int16
    assert rnp.iinfo(rnp.int8).max == 127
    assert rnp.ndim(F32) == 1 and rnp.shape(F32) == (2,) and rnp.size(F32) == 2
    assert rnp.isscalar(1.0) and not rnp.isscalar(F32)
    assert rnp.ndarray is rb.Array and isinstance(rnp.zeros(1), rnp.ndarray)


@pytest.mark.narrow
def test_conversion_from_many_things():
    class Holder:
        def __array__(self, dtype=None, copy=None):
            return np.arange(3, dtype="i4")

    assert rnp.asarray(Holder()).tolist() == [0, 1, 2]
    assert rnp.asarray(memoryview(np.ones(2, "f4"))).tolist() == [1, 1]
    assert rnp.array([rnp.ones(2), [3, 4]]).tolist() == [[1, 1], [3, 4]]
    assert rnp.array(5, ndmin=2).shape == (1, 1)
    assert rnp.frombuffer(b"\x01\x02", "uint8").tolist() == [1, 2]
    read = rnp.frombuffer(np.arange(3.0).tobytes())  # 64 bits each, as in NumPy
    assert read.tolist() == [0, 1, 2] and read.dtype == np.float32


def test_array_copies_and_asarray_does_not():
    x = rnp.ones(3)
    assert rnp.asarray(x) is x
    y = rnp.array(x)
    x.delete()
    assert y.tolist() == [1, 1, 1]
    host = np.ones(3, "f4")
    z = rnp.asarray(host)
    host[:] = 5
    assert z.tolist() == [1, 1, 1]


def test_an_array_of_a_number_is_nobody_elses():
    rnp.asarray(1.0).delete()
    assert rnp.asarray(1.0).item() == 1.0


def test_scalar_types_are_classes():
    assert isinstance(rnp.float32, type) and isinstance(np.float32(1), rnp.float32)
    assert not isinstance(np.float64(1), rnp.float32)
    assert isinstance(np.float16(1), rnp.float16)

    def f(x: rnp.float32 | None, kinds: dict[str, rnp.int8]):
        return x

    assert f.__annotations__["x"].__args__ == (rnp.float32, type(None))
    assert pickle.loads(pickle.dumps([rnp.bool_, rnp.int8])) == [rnp.bool_, rnp.int8]
    assert rnp.float64 in {np.float64} and rnp.float64 not in {float, rnp.float32}
    assert rb.tree.leaves({"dtype": rnp.int8}) == [rnp.int8]


def test_a_class_may_be_made_of_a_scalar_type():
    class Piece(rnp.int8):
        """A piece on a board."""

    assert Piece.dtype == np.int8 and Piece(3).dtype == rnp.int8 and Piece.__name__ == "Piece"
    assert rnp.zeros(2, Piece).dtype == np.int8 and issubclass(Piece, rnp.int8) and Piece.__doc__


def test_negative_powers_of_integer_arrays_are_whole_parts_of_fractions():
    x, y = np.meshgrid(np.int32([-7, -2, -1, 0, 1, 2, 65537]), np.int32([-4, -3, -2, -1]))
    wanted = np.where(x == 1, 1, np.where(x == -1, np.where(y % 2, -1, 1), 0))
    np.testing.assert_array_equal(rnp.asarray(x) ** rnp.asarray(y), wanted)
    np.testing.assert_array_equal((-1) ** rnp.arange(-3, 4), [-1, 1, -1, 1, -1, 1, -1])
