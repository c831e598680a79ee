"""Integers of 4 and 2 bits: their rows, core's functions in them, quantized weights and packing."""

import ml_dtypes
import numpy as np
import pytest
import rabbet as rb
import rabbet_int4
from rabbet import dtypes, lax
from rabbet.experimental import int4
from rabbet.testing import check_dtype
from rabbet.testing.draws import device_array

NAMES = ["int2", "int4", "uint2", "uint4"]
# Their NumPy references are computed in 64 bits, where these mean something else.
APART = (
    "bitcast_convert_type-int32-float32", "bitcast_convert_type-uint8-int32", "gather-or default",
    "shift_right_logical", "population_count", "clz", "mulhi-scalar right", "mulhi",
)  # fmt: skip
RNG = np.random.default_rng(0)
X, W = RNG.normal(size=(5, 16)).astype(np.float32), RNG.normal(size=(16, 6)).astype(np.float32)


@pytest.mark.forbidden("numpy_dtype_promotion")
@pytest.mark.parametrize("name", NAMES)
def test_a_row_says_what_its_numpy_dtype_does(name):
    spec, info = dtypes.spec(name), ml_dtypes.iinfo(name)
    assert spec is getattr(rabbet_int4, name.upper())
    assert (spec.smallest, spec.largest, spec.storage_bits) == (info.min, info.max, info.bits)
    assert dtypes.promote_types(name, int) == dtypes.promote_types(name, "bool") == name
    for other in ("int8", "uint8", float, "float32", *{"int4", "uint4"} - {name}):
        with pytest.raises(dtypes.TypePromotionError, match="convert one explicitly"):
            dtypes.promote_types(name, other)


@pytest.mark.rows(1)
@pytest.mark.parametrize("name", ["int4", pytest.param("uint4", marks=pytest.mark.exhaustive),
                                  pytest.param("int2", marks=pytest.mark.exhaustive),
                                  pytest.param("uint2", marks=pytest.mark.exhaustive)])  # fmt: skip
def test_core_computes_in_it(name):
    check_dtype(name, apart=APART)


@pytest.mark.parametrize("name", NAMES)
def test_bits_are_counted_and_shifted_in_the_formats_own_width(name):
    spec = dtypes.spec(name)
    values = np.arange(spec.smallest, spec.largest + 1)
    codes = values & (2**spec.storage_bits - 1)
    x = device_array(values.astype(spec.dtype))
    one = device_array(np.ones(len(values), spec.dtype))

    def wrapped(numbers):
        return np.asarray(numbers).astype(spec.dtype).tolist()

    assert np.asarray(lax.population_count(x)).tolist() == wrapped([int(c).bit_count() for c in codes])
    leading = [spec.storage_bits - int(c).bit_length() for c in codes]
    assert np.asarray(lax.clz(x)).tolist() == wrapped(leading)
    assert np.asarray(lax.shift_right_logical(x, one)).tolist() == wrapped(codes >> 1)
    assert np.asarray(lax.concatenate([x, x], 0)).tolist() == wrapped([*values, *values])


@pytest.mark.needs("jit")
def test_the_place_of_an_extreme_is_found_in_bytes_on_other_platforms():
    """XLA for GPUs refuses a reduction of numbers of few bits together with their places."""
    f = rb.jit(lambda x: lax.argmax(x, 0, np.int32))
    text = f.trace(rb.ShapeDtypeStruct((4,), "int4")).lower(platforms=("cuda",)).as_text()
    (types,) = [line for line in text.splitlines() if line.startswith("}) : (")]
    assert types.startswith("}) : (tensor<4xi8>, tensor<4xi32>, tensor<i8>, tensor<i32>) ->")


def test_numbers_that_do_not_fit_are_refused():
    import rabbet.numpy as rnp

    for given in (9, [9], [1, -9]):
        with pytest.raises(OverflowError, match="int4"):
            rnp.array(given, "int4")
    assert rnp.array([7, -8], "int4").tolist() == [7, -8]
    assert rnp.sort(rnp.array([3, -8, 7], "int4")).tolist() == [-8, 3, 7]
    assert rnp.argsort(rnp.array([3, -8, 7], "int4")).tolist() == [1, 0, 2]


@pytest.mark.parametrize("dtype", [*NAMES, "int8"])
@pytest.mark.parametrize("block", [None, 4])
def test_quantized_weights_are_within_half_a_step(dtype, block):
    w = int4.quantize(W, dtype, block)
    assert w.values.dtype == dtype and w.values.shape == W.shape
    assert w.scale.shape == (1 if block is None else 4, 6)
    step = np.repeat(np.asarray(w.scale), block or 16, axis=0)
    far = 1.0 if w.zero is not None else 0.5  # a zero point is rounded too
    assert np.all(np.abs(np.asarray(int4.dequantize(w)) - W) <= far * step + 1e-6)


@pytest.mark.parametrize("dtype, block", [("int4", None), ("int4", 4), ("uint4", 8), ("int2", 2)])
def test_a_product_with_weights_is_that_with_what_they_stand_for(dtype, block):
    w = int4.quantize(W, dtype, block)
    exact = np.asarray(int4.dequantize(w))
    assert np.allclose(int4.matmul(X, w), X @ exact, atol=1e-5)
    assert int4.matmul(X[0], w).shape == (6,) and int4.matmul(X[None, None], w).shape == (1, 1, 5, 6)
    assert int4.matmul(X.astype(np.float16), w).dtype == "float16"


def test_a_column_of_zeros_has_a_scale():
    assert int4.dequantize(int4.quantize(np.zeros((4, 2), np.float32))).tolist() == [[0.0, 0.0]] * 4
    assert int4.dequantize(int4.quantize(np.zeros((4, 2), np.float32), "uint4")).tolist() == [[0.0, 0.0]] * 4


@pytest.mark.needs("grad", "jit", "vmap")
def test_products_go_through_transformations():
    import rabbet

    w = int4.quantize(W, block=4)
    exact = np.asarray(int4.dequantize(w))
    to_x = rabbet.jit(rabbet.grad(lambda x: int4.matmul(x, w).sum()))(X)
    assert np.allclose(to_x, np.ones((5, 6)) @ exact.T, atol=1e-5)

    def by_scale(scale):
        return int4.matmul(X, w._replace(scale=scale)).sum()

    slope = rabbet.grad(by_scale)(w.scale)
    assert np.allclose(float((slope * w.scale).sum()), float(by_scale(w.scale)), rtol=1e-4)
    assert np.allclose(rabbet.vmap(lambda x: int4.matmul(x, w))(X), X @ exact, atol=1e-5)


@pytest.mark.parametrize("name", NAMES)
def test_packing_and_back(name):
    spec = dtypes.spec(name)
    host = RNG.integers(spec.smallest, spec.largest + 1, (3, 8)).astype(spec.dtype)
    packed = int4.pack(device_array(host))
    assert packed.dtype == "uint8" and packed.shape == (3, spec.storage_bits)
    assert np.asarray(int4.unpack(packed, name)).tobytes() == host.tobytes()


def test_messages():
    with pytest.raises(TypeError, match=r"takes a matrix \(inputs, outputs\), got shape \(16,\)"):
        int4.quantize(W[:, 0])
    with pytest.raises(TypeError, match="makes integers, and float32 is none"):
        int4.quantize(W, "float32")
    with pytest.raises(ValueError, match="16 rows are not whole blocks of 5"):
        int4.quantize(W, block=5)
    with pytest.raises(TypeError, match=r"got shapes \(6, 15\) and \(16, 6\)"):
        int4.matmul(np.ones((6, 15), "f"), int4.quantize(W))
    with pytest.raises(ValueError, match="a multiple of 2"):
        int4.pack(device_array(np.zeros(3, ml_dtypes.int4)))
    with pytest.raises(TypeError, match="and i8 is not one"):
        int4.pack(np.zeros(4, np.int8))
    with pytest.raises(TypeError, match="takes bytes, an array of uint8"):
        int4.unpack(np.zeros(4, np.int8))
